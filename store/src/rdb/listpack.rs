//! A sequence of strings and integers in one string: a listpack.
//!
//! Its size in four bytes and its number of entries in two, of which all ones say that there are
//! more; the entries; and a byte of all ones. An entry is followed by its own length, seven bits a
//! byte, so that the sequence can be read from its end.

use super::RdbError;
use super::input::{Bytes, Input, text};
use std::borrow::Cow;

/// The byte after the last entry.
const END: u8 = 0xff;
/// The number of entries that says nothing.
const MANY: u16 = u16::MAX;

/// Passes the entries to `visit`. Returns their number.
pub(super) fn read<'a>(
    mut input: Input<'a>,
    mut visit: impl FnMut(Cow<'a, [u8]>) -> Result<(), RdbError>,
) -> Result<usize, RdbError> {
    let size = input.left();
    if u32::from_le_bytes(input.array()?) as usize != size {
        return Err(input.malformed("a listpack has another size than it says"));
    }
    let stated = u16::from_le_bytes(input.array()?);
    let mut count = 0;
    while let Some(entry) = next(&mut input)? {
        visit(entry)?;
        count += 1;
    }
    if !input.is_empty() || stated != MANY && usize::from(stated) != count {
        return Err(input.malformed("a listpack has another number of entries than it says"));
    }
    Ok(count)
}

/// Reads the next entry; `None` at the end.
fn next<'a>(input: &mut Input<'a>) -> Result<Option<Cow<'a, [u8]>>, RdbError> {
    let before = input.left();
    let first = input.byte()?;
    let entry = match first {
        END => return Ok(None),
        0x00..=0x7f => text(first.into()),
        0x80..=0xbf => Cow::Borrowed(input.take(u64::from(first & 0x3f))?),
        0xc0..=0xdf => {
            let number = i16::from(first & 0x1f) << 8 | i16::from(input.byte()?);
            // The highest of 13 bits is the sign.
            text((number << 3 >> 3).into())
        }
        0xe0..=0xef => {
            let length = u64::from(first & 0x0f) << 8 | u64::from(input.byte()?);
            Cow::Borrowed(input.take(length)?)
        }
        0xf0 => {
            let length = u32::from_le_bytes(input.array()?);
            Cow::Borrowed(input.take(length.into())?)
        }
        0xf1 => text(i16::from_le_bytes(input.array()?).into()),
        0xf2 => text(three_bytes(input.array()?)),
        0xf3 => text(i32::from_le_bytes(input.array()?).into()),
        0xf4 => text(i64::from_le_bytes(input.array()?)),
        _ => return Err(input.malformed("an entry of a listpack has an unknown encoding")),
    };
    skip_length(input, before - input.left())?;
    Ok(Some(entry))
}

/// Returns a signed integer of three bytes.
pub(super) fn three_bytes([low, middle, high]: [u8; 3]) -> i64 {
    i64::from(i32::from_le_bytes([0, low, middle, high]) >> 8)
}

/// Reads the length behind an entry, which has to be its own.
fn skip_length(input: &mut Input<'_>, length: usize) -> Result<(), RdbError> {
    let width = match length {
        0..=0x7f => 1,
        0x80..=0x3ffe => 2,
        0x3fff..=0x1f_fffe => 3,
        0x1f_ffff..=0x0fff_fffe => 4,
        _ => 5,
    };
    let bytes = input.take(width)?;
    let stated = bytes.iter().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
    if stated != length {
        return Err(input.malformed("an entry of a listpack has another length than it says"));
    }
    Ok(())
}
