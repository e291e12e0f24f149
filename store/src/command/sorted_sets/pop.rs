//! Pops, of one key and of several, that wait or do not.

use super::read;
use crate::command::collections::{first_of, wait};
use crate::command::operands::{self, MultiPop};
use crate::command::{Call, CommandError, CommandResult, EventClass, WakeCondition};
use crate::resp::Protocol;
use crate::value::{SortedSet, ValueRef};

/// An end of a sorted set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extreme {
    Min,
    Max,
}

impl Extreme {
    fn parse(arg: &[u8]) -> Option<Self> {
        match arg {
            arg if arg.eq_ignore_ascii_case(b"min") => Some(Self::Min),
            arg if arg.eq_ignore_ascii_case(b"max") => Some(Self::Max),
            _ => None,
        }
    }

    /// Returns the event of a pop, which is also the command's name.
    const fn event(self) -> &'static str {
        match self {
            Self::Min => "zpopmin",
            Self::Max => "zpopmax",
        }
    }
}

/// Returns the number of members of a sorted set.
fn len(value: ValueRef<'_>) -> Result<usize, CommandError> {
    Ok(value.as_sorted_set()?.len())
}

/// Removes members from an end, as many as there are at most, and writes them: pairs, or one after
/// the other.
fn pop_members(call: &mut Call<'_, '_>, end: Extreme, key: &[u8], count: usize, is_nested: bool) {
    let set = call.keys.get_mut(key).and_then(|value| value.as_sorted_set_mut().ok());
    let Some(set) = set.filter(|_| count > 0) else { return };
    let mut write = |(member, score): (&[u8], f64)| {
        if is_nested {
            call.reply.array(2);
        }
        call.reply.bulk(member);
        call.reply.double(score);
    };
    let ranks = match end {
        Extreme::Min => 0..count.min(set.len()),
        Extreme::Max => set.len().saturating_sub(count)..set.len(),
    };
    match end {
        Extreme::Min => set.range(ranks.clone()).for_each(&mut write),
        Extreme::Max => set.range(ranks.clone()).rev().for_each(&mut write),
    }
    let parts = set.take_range(ranks);
    let is_empty = set.is_empty();
    call.keys.leave_removed(parts);
    call.shrunk(EventClass::SortedSet, end.event(), key, is_empty);
}

pub(super) fn zpopmin(call: &mut Call<'_, '_>) -> CommandResult {
    pop(call, Extreme::Min)
}

pub(super) fn zpopmax(call: &mut Call<'_, '_>) -> CommandResult {
    pop(call, Extreme::Max)
}

fn pop(call: &mut Call<'_, '_>, end: Extreme) -> CommandResult {
    let key = call.args.at(1);
    if call.args.len() > 3 {
        return Err(CommandError::SYNTAX);
    }
    let count = call.args.get(2).map(operands::count).transpose()?;
    let is_nested = count.is_some() && call.reply.protocol() == Protocol::Three;
    let count = count.unwrap_or(1).min(read(call, key)?.map_or(0, SortedSet::len));
    call.reply.array(if is_nested { count } else { 2 * count });
    pop_members(call, end, key, count, is_nested);
    call.done()
}

pub(super) fn zmpop(call: &mut Call<'_, '_>) -> CommandResult {
    let pop = MultiPop::parse(call.args, 1, Extreme::parse)?;
    if !pop_first(call, &pop)? {
        call.reply.null_array();
    }
    call.done()
}

pub(super) fn bzmpop(call: &mut Call<'_, '_>) -> CommandResult {
    let pop = MultiPop::parse(call.args, 2, Extreme::parse)?;
    let deadline = operands::deadline(call, call.args.at(1))?;
    if pop_first(call, &pop)? { call.done() } else { Ok(wait(pop.keys, WakeCondition::SortedSet, deadline)) }
}

/// Pops from the first of several sets, and writes its key and the members. Returns false, and
/// writes nothing, if there is none.
fn pop_first(call: &mut Call<'_, '_>, pop: &MultiPop<'_, Extreme>) -> Result<bool, CommandError> {
    let Some((key, len)) = first_of(call, pop.keys, len)? else { return Ok(false) };
    let count = pop.count.min(len);
    call.reply.array(2);
    call.reply.bulk(key);
    call.reply.array(count);
    pop_members(call, pop.end, key, count, true);
    call.replay([pop.end.event().as_bytes(), key, count.to_string().as_bytes()]);
    Ok(true)
}

pub(super) fn bzpopmin(call: &mut Call<'_, '_>) -> CommandResult {
    blocking_pop(call, Extreme::Min)
}

pub(super) fn bzpopmax(call: &mut Call<'_, '_>) -> CommandResult {
    blocking_pop(call, Extreme::Max)
}

fn blocking_pop(call: &mut Call<'_, '_>, end: Extreme) -> CommandResult {
    let last = call.args.len() - 1;
    let keys = call.args.skip(1).take(last - 1);
    let deadline = operands::deadline(call, call.args.at(last))?;
    let Some((key, _)) = first_of(call, keys, len)? else {
        return Ok(wait(keys, WakeCondition::SortedSet, deadline));
    };
    call.reply.array(3);
    call.reply.bulk(key);
    pop_members(call, end, key, 1, false);
    call.replay([end.event().as_bytes(), key]);
    call.done()
}
