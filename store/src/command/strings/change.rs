//! Commands that change a string in place.

use super::super::{Call, CommandError, CommandResult, EventClass};
use super::get::read_string;
use crate::server::Setting;
use crate::value::{Extended, StringRef, StringValue, Value};

/// Refuses strings that are longer than an argument may be.
fn check_length(call: &Call<'_, '_>, length: u64) -> Result<(), CommandError> {
    if length > call.server.settings.number(Setting::ProtoMaxBulkLen) as u64 {
        let text = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
        return Err(CommandError::fixed(text));
    }
    Ok(())
}

/// The length of two pieces that are no longer than memory each.
fn total(first: usize, second: usize) -> u64 {
    (first as u64).saturating_add(second as u64)
}

pub(super) fn append(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, more) = (call.args.at(1), call.args.at(2));
    let length = read_string(call.keys, key)?.map(StringRef::len);
    let Some(length) = length else {
        call.keys.put(key, Value::String(StringValue::new(more)));
        call.changed(EventClass::String, "append", key);
        return call.count(more.len());
    };
    check_length(call, total(length, more.len()))?;
    if let Some(value) = call.keys.get_mut(key) {
        value.as_string_mut()?.make_growing().extend_from_slice(more);
    }
    call.changed(EventClass::String, "append", key);
    call.count(length + more.len())
}

pub(super) fn setrange(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, part) = (call.args.at(1), call.args.at(3));
    let offset = call.integer_arg(2)?;
    let offset = usize::try_from(offset).map_err(|_| CommandError::fixed("ERR offset is out of range"))?;
    let length = read_string(call.keys, key)?.map_or(0, StringRef::len);
    if part.is_empty() {
        return call.count(length);
    }
    check_length(call, total(offset, part.len()))?;
    let empty = || Value::String(StringValue::Growing(Vec::new()));
    let bytes = call.keys.get_or_insert_with(key, empty).as_string_mut()?.make_growing();
    let end = offset + part.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(part);
    let length = bytes.len();
    call.changed(EventClass::String, "setrange", key);
    call.count(length)
}

pub(super) fn incr(call: &mut Call<'_, '_>) -> CommandResult {
    add(call, 1)
}

pub(super) fn decr(call: &mut Call<'_, '_>) -> CommandResult {
    add(call, -1)
}

pub(super) fn incrby(call: &mut Call<'_, '_>) -> CommandResult {
    let amount = call.integer_arg(2)?;
    add(call, amount)
}

pub(super) fn decrby(call: &mut Call<'_, '_>) -> CommandResult {
    let amount = call.integer_arg(2)?.checked_neg();
    let amount = amount.ok_or(CommandError::fixed("ERR decrement would overflow"))?;
    add(call, amount)
}

fn add(call: &mut Call<'_, '_>, amount: i64) -> CommandResult {
    let key = call.args.at(1);
    let old = match read_string(call.keys, key)? {
        Some(value) => value.integer().ok_or(CommandError::NOT_AN_INTEGER)?,
        None => 0,
    };
    let overflow = CommandError::fixed("ERR increment or decrement would overflow");
    let new = old.checked_add(amount).ok_or(overflow)?;
    call.keys.put_keeping_expiry(key, Value::String(StringValue::Integer(new)));
    call.changed(EventClass::String, "incrby", key);
    call.integer(new)
}

pub(super) fn incrbyfloat(call: &mut Call<'_, '_>) -> CommandResult {
    let key = call.args.at(1);
    let old = match read_string(call.keys, key)? {
        Some(value) => Extended::parse(&value.bytes()),
        None => Extended::parse(b"0"),
    };
    let old = old.ok_or(CommandError::NOT_A_FLOAT)?;
    let amount = Extended::parse(call.args.at(2)).ok_or(CommandError::NOT_A_FLOAT)?;
    let infinite = CommandError::fixed("ERR increment would produce NaN or Infinity");
    let new = old.checked_add(amount).ok_or(infinite)?.to_string();
    call.keys.put_keeping_expiry(key, Value::String(StringValue::fixed(new.as_bytes())));
    call.changed(EventClass::String, "incrbyfloat", key);
    // Another machine may round otherwise.
    call.replay([&b"SET"[..], key, new.as_bytes(), b"KEEPTTL"]);
    call.reply.bulk(new.as_bytes());
    call.done()
}
