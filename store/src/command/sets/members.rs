//! Commands on members that are named, or on all.

use super::read;
use crate::command::collections::{Scan, parse_cursor};
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::resp::{Args, Reply};
use crate::value::{Set, Value, ValueRef};

pub(super) fn sadd(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, members, limits) = (call.args.at(1), call.args.skip(2), call.limits());
    let make = || Value::Set(Box::new(Set::new(members.at(0), members.len(), &limits)));
    let set = call.keys.get_or_insert_with(key, make).as_set_mut()?;
    let added = members.iter().filter(|member| set.insert(member, &limits)).count();
    if added > 0 {
        call.changed(EventClass::Set, "sadd", key);
    }
    call.count(added)
}

pub(super) fn srem(call: &mut Call<'_, '_>) -> CommandResult {
    call.remove_named(EventClass::Set, "srem", |value, members| {
        let set = value.as_set_mut()?;
        let removed = members.iter().filter(|member| set.remove(member)).count();
        Ok((removed, set.is_empty()))
    })
}

pub(super) fn scard(value: Option<ValueRef<'_>>, _: Args<'_>, reply: &mut Reply) -> Result<(), CommandError> {
    reply.count(value.map(ValueRef::as_set).transpose()?.map_or(0, Set::len));
    Ok(())
}

pub(super) fn sismember(
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    let set = value.map(ValueRef::as_set).transpose()?;
    reply.integer(set.is_some_and(|set| set.contains(args.at(2))).into());
    Ok(())
}

pub(super) fn smismember(call: &mut Call<'_, '_>) -> CommandResult {
    let set = call.keys.get(call.args.at(1)).map(ValueRef::as_set).transpose()?;
    let members = call.args.skip(2);
    call.reply.array(members.len());
    for member in members.iter() {
        call.reply.integer(set.is_some_and(|set| set.contains(member)).into());
    }
    call.done()
}

pub(super) fn smembers(call: &mut Call<'_, '_>) -> CommandResult {
    let Some(set) = call.keys.get(call.args.at(1)) else {
        call.reply.set(0);
        return call.done();
    };
    let set = set.as_set()?;
    call.reply.set(set.len());
    set.iter().for_each(|member| call.reply.bulk(&member));
    call.done()
}

pub(super) fn smove(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, limits) = (call.args, call.limits());
    let (source, destination, member) = (args.at(1), args.at(2), args.at(3));
    let Some(set) = read(call, source)? else { return call.integer(0) };
    let is_there = set.contains(member);
    read(call, destination)?;
    if source == destination || !is_there {
        return call.integer(is_there.into());
    }
    let Some(set) = call.keys.get_mut(source) else { return call.integer(0) };
    let set = set.as_set_mut()?;
    set.remove(member);
    let is_empty = set.is_empty();
    call.shrunk(EventClass::Set, "srem", source, is_empty);
    let make = || Value::Set(Box::new(Set::new(member, 1, &limits)));
    if call.keys.get_or_insert_with(destination, make).as_set_mut()?.insert(member, &limits) {
        call.changed(EventClass::Set, "sadd", destination);
    }
    call.integer(1)
}

pub(super) fn sscan(call: &mut Call<'_, '_>) -> CommandResult {
    let cursor = parse_cursor(call.args.at(2))?;
    let set = call.keys.get(call.args.at(1)).map(ValueRef::as_set).transpose()?;
    let Some((set, scan)) = Scan::begin(cursor, set, call.args, call.reply)? else { return call.done() };
    let mut visited = Vec::new();
    let next = set.scan(scan.cursor, scan.count, |member| visited.push(member));
    visited.retain(|member| scan.matches(member));
    call.reply.bulk(next.to_string().as_bytes());
    call.reply.array(visited.len());
    visited.iter().for_each(|member| call.reply.bulk(member));
    call.done()
}
