//! A sequence of strings and integers in one string, as before Redis 7: a ziplist.
//!
//! Its size, the offset of its last entry, and in two bytes its number of entries, of which all
//! ones say that there are more; the entries; and a byte of all ones. An entry begins with the
//! length of the one before.

use super::RdbError;
use super::input::{Bytes, Input, text};
use crate::value::listpack::three_bytes;
use std::borrow::Cow;

/// The byte after the last entry.
const END: u8 = 0xff;
/// The number of entries that says nothing.
const MANY: u16 = u16::MAX;
/// The first byte of a length of four bytes.
const LONG: u8 = 0xfe;

/// Passes the entries to `visit`. Returns their number.
pub(super) fn read<'a>(
    mut input: Input<'a>,
    mut visit: impl FnMut(Cow<'a, [u8]>) -> Result<(), RdbError>,
) -> Result<usize, RdbError> {
    if !input.states_own_size()? {
        return Err(input.malformed("a ziplist has another size than it says"));
    }
    // The offset of the last entry is for those that read from the end.
    let _last = input.array::<4>()?;
    let stated = u16::from_le_bytes(input.array()?);
    let (mut count, mut before) = (0, 0);
    while let Some((entry, length)) = next(&mut input, before)? {
        visit(entry)?;
        before = length;
        count += 1;
    }
    if !input.is_empty() || stated != MANY && usize::from(stated) != count {
        return Err(input.malformed("a ziplist has another number of entries than it says"));
    }
    Ok(count)
}

/// An entry, and its length with all that belongs to it.
type Entry<'a> = (Cow<'a, [u8]>, usize);

/// Reads the next entry, and returns it with its length; `None` at the end. The one before it has
/// the length `before`.
fn next<'a>(input: &mut Input<'a>, before: usize) -> Result<Option<Entry<'a>>, RdbError> {
    let start = input.left();
    let stated = match input.byte()? {
        END => return Ok(None),
        LONG => u32::from_le_bytes(input.array()?) as usize,
        short => short.into(),
    };
    if stated != before {
        return Err(input.malformed("an entry of a ziplist has another length than the next one says"));
    }
    let first = input.byte()?;
    let entry = match first {
        0x00..=0x3f => Cow::Borrowed(input.take(first.into())?),
        0x40..=0x7f => {
            let length = u64::from(first & 0x3f) << 8 | u64::from(input.byte()?);
            Cow::Borrowed(input.take(length)?)
        }
        0x80..=0xbf => {
            let length = u32::from_be_bytes(input.array()?);
            Cow::Borrowed(input.take(length.into())?)
        }
        0xc0 => text(i16::from_le_bytes(input.array()?).into()),
        0xd0 => text(i32::from_le_bytes(input.array()?).into()),
        0xe0 => text(i64::from_le_bytes(input.array()?)),
        0xf0 => text(three_bytes(input.array()?)),
        0xfe => text(i8::from_le_bytes(input.array()?).into()),
        0xf1..=0xfd => text(i64::from(first & 0x0f) - 1),
        _ => return Err(input.malformed("an entry of a ziplist has an unknown encoding")),
    };
    Ok(Some((entry, start - input.left())))
}
