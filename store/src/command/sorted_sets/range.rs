//! Commands on the members of a span.

use super::span::{Axis, Span};
use super::{read, write_members};
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::resp::{Args, parse_integer};
use crate::value::{SortedSet, Value};
use std::ops::Range;

/// The arguments of a command that returns a range: `min max [options]`.
struct Query<'a> {
    span: Span<'a>,
    is_reverse: bool,
    has_scores: bool,
    /// How many of the members to skip, and to return at most; negative is no limit.
    limit: (i64, i64),
}

impl<'a> Query<'a> {
    /// Reads arguments. What the command's name does not say of axis and direction, options may.
    fn parse(
        args: Args<'a>,
        axis: Option<Axis>,
        is_reverse: Option<bool>,
        may_have_scores: bool,
    ) -> Result<Self, CommandError> {
        let integer = |arg| parse_integer(arg).ok_or(CommandError::NOT_AN_INTEGER);
        let (mut chosen_axis, mut chosen_reverse) = (axis, is_reverse);
        let (mut has_scores, mut limit) = (false, (0, -1));
        let mut options = args.skip(2);
        while !options.is_empty() {
            let mut used = 1;
            if may_have_scores && options.is(0, "withscores") {
                has_scores = true;
            } else if options.is(0, "limit") && options.len() > 2 {
                limit = (integer(options.at(1))?, integer(options.at(2))?);
                used = 3;
            } else if chosen_reverse.is_none() && options.is(0, "rev") {
                chosen_reverse = Some(true);
            } else if chosen_axis.is_none() && options.is(0, "bylex") {
                chosen_axis = Some(Axis::Name);
            } else if chosen_axis.is_none() && options.is(0, "byscore") {
                chosen_axis = Some(Axis::Score);
            } else {
                return Err(CommandError::SYNTAX);
            }
            options = options.skip(used);
        }
        let axis = chosen_axis.unwrap_or(Axis::Rank);
        let is_reverse = chosen_reverse.unwrap_or(false);
        if limit.1 != -1 && axis == Axis::Rank {
            return Err(CommandError::fixed(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if has_scores && axis == Axis::Name {
            return Err(CommandError::fixed(
                "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
            ));
        }
        // A reverse interval of scores or names is given from its end.
        let (min, max) = match is_reverse && axis != Axis::Rank {
            true => (args.at(1), args.at(0)),
            false => (args.at(0), args.at(1)),
        };
        Ok(Self { span: Span::parse(axis, min, max)?, is_reverse, has_scores, limit })
    }

    /// Returns the ranks of the members that are returned.
    fn ranks(&self, set: &SortedSet) -> Range<usize> {
        let mut range = self.span.ranks(set, self.is_reverse);
        if matches!(self.span, Span::Rank(..)) {
            return range;
        }
        let Ok(offset) = usize::try_from(self.limit.0) else { return 0..0 };
        let skipped = offset.min(range.len());
        let count = usize::try_from(self.limit.1).unwrap_or(usize::MAX).min(range.len() - skipped);
        if self.is_reverse {
            range.end -= skipped;
            range.start = range.end - count;
        } else {
            range.start += skipped;
            range.end = range.start + count;
        }
        range
    }
}

/// Answers a query about the set of the first argument.
fn reply(call: &mut Call<'_, '_>, axis: Option<Axis>, is_reverse: Option<bool>) -> CommandResult {
    let query = Query::parse(call.args.skip(2), axis, is_reverse, true)?;
    let Some(set) = call.keys.get(call.args.at(1)) else {
        call.reply.array(0);
        return call.done();
    };
    let set = set.as_sorted_set()?;
    let ranks = query.ranks(set);
    let members = CountedMembers { left: ranks.len(), members: set.range(ranks) };
    match query.is_reverse {
        true => write_members(call.reply, members.rev(), query.has_scores),
        false => write_members(call.reply, members, query.has_scores),
    }
    call.done()
}

/// Members whose number is known.
struct CountedMembers<I> {
    left: usize,
    members: I,
}

impl<I: Iterator> Iterator for CountedMembers<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.left = self.left.saturating_sub(1);
        self.members.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: DoubleEndedIterator> DoubleEndedIterator for CountedMembers<I> {
    fn next_back(&mut self) -> Option<I::Item> {
        self.left = self.left.saturating_sub(1);
        self.members.next_back()
    }
}

impl<I: Iterator> ExactSizeIterator for CountedMembers<I> {}

pub(super) fn zrange(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, None, None)
}

pub(super) fn zrevrange(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Some(Axis::Rank), Some(true))
}

pub(super) fn zrangebyscore(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Some(Axis::Score), Some(false))
}

pub(super) fn zrevrangebyscore(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Some(Axis::Score), Some(true))
}

pub(super) fn zrangebylex(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Some(Axis::Name), Some(false))
}

pub(super) fn zrevrangebylex(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Some(Axis::Name), Some(true))
}

pub(super) fn zrangestore(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, limits) = (call.args, call.limits());
    let query = Query::parse(args.skip(3), None, None, false)?;
    let mut result = SortedSet::new();
    if let Some(set) = read(call, args.at(2))? {
        for (member, score) in set.range(query.ranks(set)) {
            result.insert(member, score, &limits);
        }
    }
    let len = result.len();
    let result = Value::SortedSet(Box::new(result));
    call.store(EventClass::SortedSet, "zrangestore", args.at(1), result, len)
}

pub(super) fn zcount(call: &mut Call<'_, '_>) -> CommandResult {
    count(call, Axis::Score)
}

pub(super) fn zlexcount(call: &mut Call<'_, '_>) -> CommandResult {
    count(call, Axis::Name)
}

fn count(call: &mut Call<'_, '_>, axis: Axis) -> CommandResult {
    let span = Span::parse(axis, call.args.at(2), call.args.at(3))?;
    let count = read(call, call.args.at(1))?.map_or(0, |set| span.ranks(set, false).len());
    call.count(count)
}

pub(super) fn zremrangebyrank(call: &mut Call<'_, '_>) -> CommandResult {
    remove(call, Axis::Rank, "zremrangebyrank")
}

pub(super) fn zremrangebyscore(call: &mut Call<'_, '_>) -> CommandResult {
    remove(call, Axis::Score, "zremrangebyscore")
}

pub(super) fn zremrangebylex(call: &mut Call<'_, '_>) -> CommandResult {
    remove(call, Axis::Name, "zremrangebylex")
}

fn remove(call: &mut Call<'_, '_>, axis: Axis, event: &'static str) -> CommandResult {
    let key = call.args.at(1);
    let span = Span::parse(axis, call.args.at(2), call.args.at(3))?;
    let Some(set) = call.keys.get_mut(key) else { return call.count(0) };
    let set = set.as_sorted_set_mut()?;
    let ranks = span.ranks(set, false);
    let removed = ranks.len();
    if removed > 0 {
        let parts = set.take_range(ranks);
        let is_empty = set.is_empty();
        call.keys.leave_removed(parts);
        call.shrunk(EventClass::SortedSet, event, key, is_empty);
    }
    call.count(removed)
}
