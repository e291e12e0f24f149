//! Pops, of one key and of several, that wait or do not.

use super::{parse_end, pop_event};
use crate::command::collections::{first_of, wait};
use crate::command::operands::{self, MultiPop};
use crate::command::{Call, CommandError, CommandResult, EventClass, WakeCondition};
use crate::value::{End, ValueRef};

/// Returns the length of a list.
fn len(value: ValueRef<'_>) -> Result<usize, CommandError> {
    Ok(value.as_list()?.len())
}

pub(super) fn lpop(call: &mut Call<'_, '_>) -> CommandResult {
    pop(call, End::Left)
}

pub(super) fn rpop(call: &mut Call<'_, '_>) -> CommandResult {
    pop(call, End::Right)
}

fn pop(call: &mut Call<'_, '_>, end: End) -> CommandResult {
    let key = call.args.at(1);
    if call.args.len() > 3 {
        return Err(CommandError::wrong_arity(pop_event(end)));
    }
    let count = call.args.get(2).map(operands::count).transpose()?;
    if !pop_elements(call, end, key, count)? {
        match count {
            None => call.reply.null(),
            Some(_) => call.reply.null_array(),
        }
    }
    call.done()
}

/// Pops an element and writes it; with a count as many as there are at most, as an array. Returns
/// false, and writes nothing, if there is no such key.
fn pop_elements(
    call: &mut Call<'_, '_>,
    end: End,
    key: &[u8],
    count: Option<usize>,
) -> Result<bool, CommandError> {
    let limits = call.limits();
    let Some(list) = call.keys.get_mut(key) else { return Ok(false) };
    let list = list.as_list_mut()?;
    let popped = count.unwrap_or(1).min(list.len());
    if count.is_some() {
        call.reply.array(popped);
    }
    if popped == 0 {
        return Ok(true);
    }
    match end {
        End::Left => list.iter().take(popped).for_each(|element| call.reply.bulk(element)),
        End::Right => list.iter().rev().take(popped).for_each(|element| call.reply.bulk(element)),
    }
    let start = if end == End::Left { 0 } else { list.len() - popped };
    let parts = list.take_range(start..start + popped, &limits);
    let is_empty = list.is_empty();
    call.keys.leave_removed(parts);
    call.shrunk(EventClass::List, pop_event(end), key, is_empty);
    Ok(true)
}

pub(super) fn lmpop(call: &mut Call<'_, '_>) -> CommandResult {
    let pop = MultiPop::parse(call.args, 1, parse_end)?;
    if !pop_first(call, &pop)? {
        call.reply.null_array();
    }
    call.done()
}

pub(super) fn blmpop(call: &mut Call<'_, '_>) -> CommandResult {
    let pop = MultiPop::parse(call.args, 2, parse_end)?;
    let deadline = operands::deadline(call, call.args.at(1))?;
    if pop_first(call, &pop)? { call.done() } else { Ok(wait(pop.keys, WakeCondition::List, deadline)) }
}

/// Pops from the first of several lists, and writes its key and the elements. Returns false, and
/// writes nothing, if there is none.
fn pop_first(call: &mut Call<'_, '_>, pop: &MultiPop<'_, End>) -> Result<bool, CommandError> {
    let Some((key, len)) = first_of(call, pop.keys, len)? else { return Ok(false) };
    let count = pop.count.min(len);
    call.reply.array(2);
    call.reply.bulk(key);
    pop_elements(call, pop.end, key, Some(count))?;
    call.replay([pop_event(pop.end).as_bytes(), key, count.to_string().as_bytes()]);
    Ok(true)
}

pub(super) fn blpop(call: &mut Call<'_, '_>) -> CommandResult {
    blocking_pop(call, End::Left)
}

pub(super) fn brpop(call: &mut Call<'_, '_>) -> CommandResult {
    blocking_pop(call, End::Right)
}

fn blocking_pop(call: &mut Call<'_, '_>, end: End) -> CommandResult {
    let last = call.args.len() - 1;
    let keys = call.args.skip(1).take(last - 1);
    let deadline = operands::deadline(call, call.args.at(last))?;
    let Some((key, _)) = first_of(call, keys, len)? else {
        return Ok(wait(keys, WakeCondition::List, deadline));
    };
    call.reply.array(2);
    call.reply.bulk(key);
    pop_elements(call, end, key, None)?;
    call.replay([pop_event(end).as_bytes(), key]);
    call.done()
}
