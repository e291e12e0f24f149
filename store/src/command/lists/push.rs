//! Pushes, and the length.

use super::{push_event, write, write_or_make};
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::resp::{Args, Reply};
use crate::value::{End, List, ValueRef};

pub(super) fn lpush(call: &mut Call<'_, '_>) -> CommandResult {
    push(call, End::Left, true)
}

pub(super) fn rpush(call: &mut Call<'_, '_>) -> CommandResult {
    push(call, End::Right, true)
}

pub(super) fn lpushx(call: &mut Call<'_, '_>) -> CommandResult {
    push(call, End::Left, false)
}

pub(super) fn rpushx(call: &mut Call<'_, '_>) -> CommandResult {
    push(call, End::Right, false)
}

fn push(call: &mut Call<'_, '_>, end: End, makes: bool) -> CommandResult {
    let (args, key, limits) = (call.args, call.args.at(1), call.limits());
    let list = match makes {
        true => write_or_make(call, key)?,
        false => match write(call, key)? {
            Some(list) => list,
            None => return call.count(0),
        },
    };
    args.iter().skip(2).for_each(|element| list.push(end, element, &limits));
    let len = list.len();
    call.changed(EventClass::List, push_event(end), key);
    call.count(len)
}

pub(super) fn llen(value: Option<ValueRef<'_>>, _: Args<'_>, reply: &mut Reply) -> Result<(), CommandError> {
    reply.count(value.map(ValueRef::as_list).transpose()?.map_or(0, List::len));
    Ok(())
}
