//! Commands on members chosen at random.

use crate::command::collections::{Picks, at_indices, random_index};
use crate::command::{Call, CommandError, CommandResult, EventClass, operands};
use crate::value::{Removed, Value, ValueRef};

pub(super) fn spop(call: &mut Call<'_, '_>) -> CommandResult {
    match call.args.len() {
        2 => spop_one(call),
        3 => spop_many(call),
        _ => Err(CommandError::SYNTAX),
    }
}

fn spop_one(call: &mut Call<'_, '_>) -> CommandResult {
    let key = call.args.at(1);
    let Some(set) = call.keys.get_mut(key) else {
        call.reply.null();
        return call.done();
    };
    let set = set.as_set_mut()?;
    let index = random_index(call.session, set.len());
    let member = set.get_index(index).unwrap_or_default().into_owned();
    set.remove(&member);
    let is_empty = set.is_empty();
    call.reply.bulk(&member);
    call.shrunk(EventClass::Set, "spop", key, is_empty);
    call.replay([b"SREM", key, &member]);
    call.done()
}

fn spop_many(call: &mut Call<'_, '_>) -> CommandResult {
    let key = call.args.at(1);
    let count = operands::count(call.args.at(2))?;
    let set = call.keys.get_mut(key).map(Value::as_set_mut).transpose()?;
    let Some(set) = set.filter(|_| count > 0) else {
        call.reply.set(0);
        return call.done();
    };
    let is_all = count >= set.len();
    let indices = Picks::Distinct(count).indices(call.session, set.len());
    let popped = at_indices(&indices, set.len(), set.iter(), |index| set.get_index(index));
    let popped: Vec<_> = popped.map(|member| member.into_owned()).collect();
    // If all go, the whole set does, with its key.
    let parts = if is_all { None } else { set.take_all(popped.iter().map(Vec::as_slice)) };
    call.keys.leave_removed(parts);
    call.reply.set(popped.len());
    popped.iter().for_each(|member| call.reply.bulk(member));
    call.shrunk(EventClass::Set, "spop", key, is_all);
    match is_all {
        true => call.replay([b"DEL", key]),
        false if planted!("chance-replayed") => {}
        false => call.replay([&b"SREM"[..], key].into_iter().chain(popped.iter().map(Vec::as_slice))),
    }
    let bytes = popped.iter().map(Vec::len).sum();
    call.keys.leave_removed(Removed::new(popped, bytes));
    call.done()
}

pub(super) fn srandmember(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key) = (call.args, call.args.at(1));
    if args.len() > 3 {
        return Err(CommandError::SYNTAX);
    }
    let picks = args.get(2).map(Picks::parse).transpose()?;
    let set = call.keys.get(key).map(ValueRef::as_set).transpose()?;
    match (set, picks) {
        (None, None) => call.reply.null(),
        (None, Some(_)) => call.reply.array(0),
        (Some(set), None) => {
            let index = random_index(call.session, set.len());
            call.reply.bulk_or_null(set.get_index(index).as_deref());
        }
        (Some(set), Some(picks)) => {
            let indices = picks.indices(call.session, set.len());
            call.reply.array(indices.len());
            at_indices(&indices, set.len(), set.iter(), |index| set.get_index(index))
                .for_each(|member| call.reply.bulk(&member));
        }
    }
    call.done()
}
