//! Commands that read strings; GETDEL.

use super::super::{Call, CommandError, CommandResult, EventClass};
use crate::keyspace::Keys;
use crate::resp::{Args, Reply};
use crate::value::{StringRef, ValueRef};

/// Finds a string to read it.
pub(in super::super) fn read_string<'k>(
    keys: &'k Keys<'_>,
    key: &[u8],
) -> Result<Option<StringRef<'k>>, CommandError> {
    keys.get(key).map(ValueRef::as_string).transpose()
}

pub(super) fn get(value: Option<ValueRef<'_>>, _: Args<'_>, reply: &mut Reply) -> Result<(), CommandError> {
    match value {
        Some(value) => value.as_string()?.write_to(reply),
        None => reply.null(),
    }
    Ok(())
}

pub(super) fn getdel(call: &mut Call<'_, '_>) -> CommandResult {
    let key = call.args.at(1);
    get(call.keys.get(key), call.args, call.reply)?;
    if call.keys.delete(key) {
        call.changed(EventClass::Generic, "del", key);
        call.replay([&b"DEL"[..], key]);
    }
    call.done()
}

pub(super) fn mget(call: &mut Call<'_, '_>) -> CommandResult {
    let keys = call.args.skip(1);
    call.reply.array(keys.len());
    for key in keys.iter() {
        match call.keys.get(key).map(ValueRef::as_string) {
            Some(Ok(value)) => value.write_to(call.reply),
            Some(Err(_)) | None => call.reply.null(),
        }
    }
    call.done()
}

pub(super) fn strlen(
    value: Option<ValueRef<'_>>,
    _: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    reply.count(value.map(ValueRef::as_string).transpose()?.map_or(0, StringRef::len));
    Ok(())
}

pub(super) fn getrange(call: &mut Call<'_, '_>) -> CommandResult {
    let (start, end) = (call.integer_arg(2)?, call.integer_arg(3)?);
    match read_string(call.keys, call.args.at(1))? {
        Some(value) => {
            let bytes = value.bytes();
            call.reply.bulk(part(&bytes, start, end));
        }
        None => call.reply.bulk(b""),
    }
    call.done()
}

/// The part of a string between two indexes, both included. Negative ones count from the end.
fn part(bytes: &[u8], start: i64, end: i64) -> &[u8] {
    let length = bytes.len() as i64;
    if length == 0 || start < 0 && end < 0 && start > end {
        return b"";
    }
    let from_start = |index: i64| if index < 0 { index.saturating_add(length).max(0) } else { index };
    let (start, end) = (from_start(start), from_start(end).min(length - 1));
    if start > end { b"" } else { &bytes[start as usize..=end as usize] }
}
