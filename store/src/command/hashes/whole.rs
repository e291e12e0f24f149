//! Commands on all fields, or some that are not named.

use crate::command::collections::{Picks, Scan, at_indices, parse_cursor, random_index};
use crate::command::{Call, CommandResult};
use crate::resp::Protocol;
use crate::value::ValueRef;

pub(super) fn hgetall(call: &mut Call<'_, '_>) -> CommandResult {
    let Some(hash) = call.keys.get(call.args.at(1)) else {
        call.reply.map(0);
        return call.done();
    };
    let hash = hash.as_hash()?;
    call.reply.map(hash.len());
    for (field, value) in hash.iter() {
        call.reply.bulk(field);
        call.reply.bulk(value);
    }
    call.done()
}

pub(super) fn hkeys(call: &mut Call<'_, '_>) -> CommandResult {
    one_of_each(call, |field, _| field)
}

pub(super) fn hvals(call: &mut Call<'_, '_>) -> CommandResult {
    one_of_each(call, |_, value| value)
}

/// Writes the field or the value of each pair.
fn one_of_each(call: &mut Call<'_, '_>, choose: for<'h> fn(&'h [u8], &'h [u8]) -> &'h [u8]) -> CommandResult {
    let Some(hash) = call.keys.get(call.args.at(1)) else {
        call.reply.array(0);
        return call.done();
    };
    let hash = hash.as_hash()?;
    call.reply.array(hash.len());
    hash.iter().for_each(|(field, value)| call.reply.bulk(choose(field, value)));
    call.done()
}

pub(super) fn hrandfield(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key) = (call.args, call.args.at(1));
    let picks = (args.len() > 2).then(|| Picks::parse_with(args, "withvalues")).transpose()?;
    let hash = call.keys.get(key).map(ValueRef::as_hash).transpose()?;
    match (hash, picks) {
        (None, None) => call.reply.null(),
        (None, Some(_)) => call.reply.array(0),
        (Some(hash), None) => {
            let index = random_index(call.session, hash.len());
            call.reply.bulk_or_null(hash.get_index(index).map(|(field, _)| field));
        }
        (Some(hash), Some((picks, has_values))) => {
            let indices = picks.indices(call.session, hash.len());
            let is_nested = has_values && call.reply.protocol() == Protocol::Three;
            let flat = if has_values { 2 * indices.len() } else { indices.len() };
            call.reply.array(if is_nested { indices.len() } else { flat });
            let pairs = at_indices(&indices, hash.len(), hash.iter(), |index| hash.get_index(index));
            for (field, value) in pairs {
                if is_nested {
                    call.reply.array(2);
                }
                call.reply.bulk(field);
                if has_values {
                    call.reply.bulk(value);
                }
            }
        }
    }
    call.done()
}

pub(super) fn hscan(call: &mut Call<'_, '_>) -> CommandResult {
    let cursor = parse_cursor(call.args.at(2))?;
    let hash = call.keys.get(call.args.at(1)).map(ValueRef::as_hash).transpose()?;
    let Some((hash, scan)) = Scan::begin(cursor, hash, call.args, call.reply)? else { return call.done() };
    let mut visited = Vec::new();
    let next = hash.scan(scan.cursor, scan.count, |field, value| visited.push((field, value)));
    visited.retain(|(field, _)| scan.matches(field));
    call.reply.bulk(next.to_string().as_bytes());
    call.reply.array(2 * visited.len());
    for (field, value) in visited {
        call.reply.bulk(field);
        call.reply.bulk(value);
    }
    call.done()
}
