//! Pops, of one key and of several, that wait or do not.

use super::{parse_end, pop_event, read, write};
use crate::command::collections::{first_of, wait};
use crate::command::operands::{self, MultiPop};
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::value::{End, List, Value};

/// Returns the length of a list.
fn len(value: &Value) -> Result<usize, CommandError> {
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
    let len = read(call, key)?.map(List::len);
    match (len, count) {
        (None, None) => call.reply.null(),
        (None, Some(_)) => call.reply.null_array(),
        (Some(_), None) => {
            pop_one(call, end, key)?;
        }
        (Some(len), Some(count)) => pop_many(call, end, key, count.min(len))?,
    }
    call.done()
}

/// Pops one element and writes it. Returns false, and writes nothing, if there is no such key.
fn pop_one(call: &mut Call<'_, '_>, end: End, key: &[u8]) -> Result<bool, CommandError> {
    let limits = call.limits();
    let Some(element) = write(call, key)?.and_then(|list| list.pop(end, &limits)) else {
        return Ok(false);
    };
    call.reply.bulk(&element);
    call.shrunk(EventClass::List, pop_event(end), key);
    Ok(true)
}

/// Pops elements, as many as there are at most, and writes them as an array.
fn pop_many(call: &mut Call<'_, '_>, end: End, key: &[u8], count: usize) -> Result<(), CommandError> {
    let limits = call.limits();
    call.reply.array(count);
    let Some(list) = call.keys.get_mut(key) else { return Ok(()) };
    let list = list.as_list_mut()?;
    match end {
        End::Left => list.iter().take(count).for_each(|element| call.reply.bulk(element)),
        End::Right => list.iter().rev().take(count).for_each(|element| call.reply.bulk(element)),
    }
    let start = if end == End::Left { 0 } else { list.len() - count };
    list.remove_range(start..start + count, &limits);
    if count > 0 {
        call.shrunk(EventClass::List, pop_event(end), key);
    }
    Ok(())
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
    if pop_first(call, &pop)? { call.done() } else { Ok(wait(pop.keys, deadline)) }
}

/// Pops from the first of several lists, and writes its key and the elements. Returns false, and
/// writes nothing, if there is none.
fn pop_first(call: &mut Call<'_, '_>, pop: &MultiPop<'_, End>) -> Result<bool, CommandError> {
    let Some((key, len)) = first_of(call, pop.keys, len)? else { return Ok(false) };
    let count = pop.count.min(len);
    call.reply.array(2);
    call.reply.bulk(key);
    pop_many(call, pop.end, key, count)?;
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
    let Some((key, _)) = first_of(call, keys, len)? else { return Ok(wait(keys, deadline)) };
    call.reply.array(2);
    call.reply.bulk(key);
    pop_one(call, end, key)?;
    call.replay([pop_event(end).as_bytes(), key]);
    call.done()
}
