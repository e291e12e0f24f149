//! Commands on fields that are named.

use super::{read, write_or_make};
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::resp::{Args, Reply};
use crate::value::{Hash, ValueRef};

pub(super) fn hset(call: &mut Call<'_, '_>) -> CommandResult {
    let added = set_all(call, "hset")?;
    call.count(added)
}

pub(super) fn hmset(call: &mut Call<'_, '_>) -> CommandResult {
    set_all(call, "hmset")?;
    call.ok()
}

/// Sets the fields of the arguments. Returns the number of new ones.
fn set_all(call: &mut Call<'_, '_>, name: &str) -> Result<usize, CommandError> {
    let (args, key, limits) = (call.args, call.args.at(1), call.limits());
    if args.len() % 2 == 1 {
        return Err(CommandError::wrong_arity(name));
    }
    let hash = write_or_make(call, key)?;
    let pairs = (2..args.len()).step_by(2).map(|at| (args.at(at), args.at(at + 1)));
    let added = pairs.filter(|(field, value)| hash.set(field, value, &limits)).count();
    call.changed(EventClass::Hash, "hset", key);
    Ok(added)
}

pub(super) fn hsetnx(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key, limits) = (call.args, call.args.at(1), call.limits());
    let hash = write_or_make(call, key)?;
    if hash.contains(args.at(2)) {
        return call.integer(0);
    }
    hash.set(args.at(2), args.at(3), &limits);
    call.changed(EventClass::Hash, "hset", key);
    call.integer(1)
}

pub(super) fn hget(
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    let hash = value.map(ValueRef::as_hash).transpose()?;
    reply.bulk_or_null(hash.and_then(|hash| hash.get(args.at(2))));
    Ok(())
}

pub(super) fn hmget(call: &mut Call<'_, '_>) -> CommandResult {
    let hash = call.keys.get(call.args.at(1)).map(ValueRef::as_hash).transpose()?;
    let fields = call.args.skip(2);
    call.reply.array(fields.len());
    fields.iter().for_each(|field| call.reply.bulk_or_null(hash.and_then(|hash| hash.get(field))));
    call.done()
}

pub(super) fn hdel(call: &mut Call<'_, '_>) -> CommandResult {
    call.remove_named(EventClass::Hash, "hdel", |value, fields| {
        let hash = value.as_hash_mut()?;
        let removed = fields.iter().filter(|field| hash.remove(field)).count();
        Ok((removed, hash.is_empty()))
    })
}

pub(super) fn hlen(value: Option<ValueRef<'_>>, _: Args<'_>, reply: &mut Reply) -> Result<(), CommandError> {
    reply.count(value.map(ValueRef::as_hash).transpose()?.map_or(0, Hash::len));
    Ok(())
}

pub(super) fn hexists(call: &mut Call<'_, '_>) -> CommandResult {
    let is_there = read(call, call.args.at(1))?.is_some_and(|hash| hash.contains(call.args.at(2)));
    call.integer(is_there.into())
}

pub(super) fn hstrlen(call: &mut Call<'_, '_>) -> CommandResult {
    let hash = read(call, call.args.at(1))?;
    let len = hash.and_then(|hash| hash.get(call.args.at(2))).map_or(0, <[u8]>::len);
    call.count(len)
}
