//! SETBIT and GETBIT; how a string is read and grown.

use super::super::strings::read_string;
use super::super::{Call, CommandError, CommandResult, EventClass};
use crate::resp::parse_integer;
use crate::server::Setting;
use crate::value::{StringRef, StringValue, Value};
use std::borrow::Cow;

const OFFSET: CommandError = CommandError::fixed("ERR bit offset is not an integer or out of range");

/// Bytes for which there is memory without a look.
const LARGE: usize = 1 << 20;

/// Reads the position of a bit. With `width` a `#` before it counts in fields of that many bits.
pub(super) fn offset(call: &Call<'_, '_>, arg: &[u8], width: Option<u32>) -> Result<usize, CommandError> {
    let (digits, unit) = match (arg.strip_prefix(b"#"), width) {
        (Some(digits), Some(width)) => (digits, i64::from(width)),
        _ => (arg, 1),
    };
    let offset = parse_integer(digits).and_then(|offset| offset.checked_mul(unit)).ok_or(OFFSET)?;
    let longest = call.server.settings.number(Setting::ProtoMaxBulkLen);
    if offset < 0 || offset >> 3 >= longest {
        return Err(OFFSET);
    }
    usize::try_from(offset).map_err(|_| OFFSET)
}

/// Returns the bytes of a string to be read, if there is such a key.
pub(super) fn read<'a>(call: &'a Call<'_, '_>, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>, CommandError> {
    Ok(read_string(call.keys, key)?.map(StringRef::bytes))
}

/// Returns the bytes of a string to be changed, and whether it has become longer, so that it has a
/// bit at this offset. It is made if there is no such key.
pub(super) fn grow<'a>(
    call: &'a mut Call<'_, '_>,
    key: &[u8],
    offset: usize,
) -> Result<(&'a mut Vec<u8>, bool), CommandError> {
    let length = read_string(call.keys, key)?.map_or(0, StringRef::len);
    check_memory(offset / 8, length)?;
    let empty = || Value::String(StringValue::Growing(Vec::new()));
    let bytes = call.keys.get_or_insert_with(key, empty).as_string_mut()?.make_growing();
    let has_grown = bytes.len() <= offset / 8;
    if has_grown {
        bytes.resize(offset / 8 + 1, 0);
    }
    Ok((bytes, has_grown))
}

/// Refuses a string that becomes longer by more than there is memory.
fn check_memory(end: usize, length: usize) -> Result<(), CommandError> {
    let more = end.saturating_sub(length);
    if more > LARGE && Vec::<u8>::new().try_reserve_exact(end + 1).is_err() {
        return Err(CommandError::fixed("OOM there is no memory for a string of this length"));
    }
    Ok(())
}

/// Returns a bit; those after the end are 0.
pub(super) fn bit(bytes: &[u8], offset: usize) -> bool {
    bytes.get(offset / 8).is_some_and(|byte| byte & mask(offset) != 0)
}

/// Sets or clears a bit of a string that has it.
pub(super) fn set_bit(bytes: &mut [u8], offset: usize, is_set: bool) {
    let byte = &mut bytes[offset / 8];
    *byte = if is_set { *byte | mask(offset) } else { *byte & !mask(offset) };
}

fn mask(offset: usize) -> u8 {
    0x80 >> (offset % 8)
}

pub(super) fn setbit(call: &mut Call<'_, '_>) -> CommandResult {
    let key = call.args.at(1);
    let offset = offset(call, call.args.at(2), None)?;
    let is_set = match parse_integer(call.args.at(3)) {
        Some(bit @ (0 | 1)) => bit == 1,
        _ => return Err(CommandError::fixed("ERR bit is not an integer or out of range")),
    };
    let (bytes, has_grown) = grow(call, key, offset)?;
    let was_set = bit(bytes, offset);
    set_bit(bytes, offset, is_set);
    if has_grown || was_set != is_set {
        call.changed(EventClass::String, "setbit", key);
    }
    call.integer(was_set.into())
}

pub(super) fn getbit(call: &mut Call<'_, '_>) -> CommandResult {
    let offset = offset(call, call.args.at(2), None)?;
    let is_set = read(call, call.args.at(1))?.is_some_and(|bytes| bit(&bytes, offset));
    call.integer(is_set.into())
}
