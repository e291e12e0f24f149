//! What is at an index, and where an element is.

use super::{read, write};
use crate::command::operands::{at_least, index, index_range, reversible};
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::resp::Args;
use crate::value::{End, List};

pub(super) fn lindex(call: &mut Call<'_, '_>) -> CommandResult {
    let Some(list) = call.keys.get(call.args.at(1)) else {
        call.reply.null();
        return call.done();
    };
    let list = list.as_list()?;
    let at = call.integer_arg(2)?;
    call.reply.bulk_or_null(index(at, list.len()).and_then(|at| list.get(at)));
    call.done()
}

pub(super) fn lset(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, element, limits) = (call.args.at(1), call.args.at(3), call.limits());
    let len = read(call, key)?.ok_or(CommandError::NO_SUCH_KEY)?.len();
    let at = index(call.integer_arg(2)?, len).ok_or(CommandError::INDEX_OUT_OF_RANGE)?;
    if let Some(list) = write(call, key)? {
        list.set(at, element, &limits);
    }
    call.changed(EventClass::List, "lset", key);
    call.ok()
}

pub(super) fn lrange(call: &mut Call<'_, '_>) -> CommandResult {
    let (start, stop) = (call.integer_arg(2)?, call.integer_arg(3)?);
    let Some(list) = call.keys.get(call.args.at(1)) else {
        call.reply.array(0);
        return call.done();
    };
    let list = list.as_list()?;
    let range = index_range(start, stop, list.len());
    call.reply.array(range.len());
    list.range(range).for_each(|element| call.reply.bulk(element));
    call.done()
}

pub(super) fn ltrim(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, limits) = (call.args.at(1), call.limits());
    let (start, stop) = (call.integer_arg(2)?, call.integer_arg(3)?);
    if let Some(list) = write(call, key)? {
        let range = index_range(start, stop, list.len());
        let after = list.take_range(range.end..list.len(), &limits);
        let before = list.take_range(0..range.start, &limits);
        let is_empty = list.is_empty();
        [before, after].into_iter().for_each(|parts| call.keys.leave_removed(parts));
        call.shrunk(EventClass::List, "ltrim", key, is_empty);
    }
    call.ok()
}

pub(super) fn lrem(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, element, limits) = (call.args.at(1), call.args.at(3), call.limits());
    let count = call.integer_arg(2)?;
    let end = if count < 0 { End::Right } else { End::Left };
    let limit = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
    let Some(list) = write(call, key)? else { return call.count(0) };
    let equal = list.remove_equal(end, limit, element, &limits);
    let is_empty = list.is_empty();
    if equal > 0 {
        call.shrunk(EventClass::List, "lrem", key, is_empty);
    }
    call.count(equal)
}

pub(super) fn linsert(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, pivot, element, limits) = (call.args.at(1), call.args.at(3), call.args.at(4), call.limits());
    let after = match call.args {
        args if args.is(2, "after") => 1,
        args if args.is(2, "before") => 0,
        _ => return Err(CommandError::SYNTAX),
    };
    let Some(list) = write(call, key)? else { return call.count(0) };
    let Some(found) = list.iter().position(|other| other == pivot) else { return call.integer(-1) };
    list.insert(found + after, element, &limits);
    let len = list.len();
    call.changed(EventClass::List, "linsert", key);
    call.count(len)
}

/// The options of LPOS.
struct Search {
    /// The first match that is returned, counted from 1.
    rank: usize,
    from: End,
    /// The number of matches to be returned as an array; `None` for one that is no array.
    count: Option<usize>,
    /// The number of elements to be compared.
    max_len: usize,
}

/// Takes 0 as no limit.
fn limit(number: i64) -> usize {
    if number == 0 { usize::MAX } else { number as usize }
}

impl Search {
    fn parse(mut options: Args<'_>) -> Result<Self, CommandError> {
        let mut search = Self { rank: 1, from: End::Left, count: None, max_len: usize::MAX };
        while !options.is_empty() {
            let value = options.get(1).ok_or(CommandError::SYNTAX)?;
            if options.is(0, "rank") {
                search.set_rank(value)?;
            } else if options.is(0, "count") {
                search.count = Some(limit(at_least(value, 0, "ERR COUNT can't be negative")?));
            } else if options.is(0, "maxlen") {
                search.max_len = limit(at_least(value, 0, "ERR MAXLEN can't be negative")?);
            } else {
                return Err(CommandError::SYNTAX);
            }
            options = options.skip(2);
        }
        Ok(search)
    }

    fn set_rank(&mut self, value: &[u8]) -> Result<(), CommandError> {
        let rank = reversible(value)?;
        if rank == 0 {
            return Err(CommandError::fixed(
                "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
                 negative to start from the end of the list",
            ));
        }
        self.rank = rank.unsigned_abs() as usize;
        self.from = if rank < 0 { End::Right } else { End::Left };
        Ok(())
    }

    /// Returns the indices that match, in the order of the search.
    fn run(&self, list: &List, element: &[u8]) -> Vec<usize> {
        let skipped = self.rank - 1;
        let count = self.count.unwrap_or(1);
        let matching = |(index, other): (usize, &[u8])| (other == element).then_some(index);
        match self.from {
            End::Left => {
                let compared = list.iter().enumerate().take(self.max_len);
                compared.filter_map(matching).skip(skipped).take(count).collect()
            }
            End::Right => {
                let compared = (0..list.len()).rev().zip(list.iter().rev()).take(self.max_len);
                compared.filter_map(matching).skip(skipped).take(count).collect()
            }
        }
    }
}

pub(super) fn lpos(call: &mut Call<'_, '_>) -> CommandResult {
    let search = Search::parse(call.args.skip(3))?;
    let list = read(call, call.args.at(1))?;
    let found = list.map_or(Vec::new(), |list| search.run(list, call.args.at(2)));
    match (search.count, found.first()) {
        (Some(_), _) => {
            call.reply.array(found.len());
            found.iter().for_each(|&index| call.reply.count(index));
        }
        (None, Some(&index)) => call.reply.count(index),
        (None, None) => call.reply.null(),
    }
    call.done()
}
