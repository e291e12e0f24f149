//! A hash in one string, as before Redis 2.6: a zipmap.
//!
//! Its number of fields, of which 254 says that there are more; fields and values; and a byte of
//! all ones. A value is followed by bytes that are not used: their number stands before it.

use super::RdbError;
use super::input::{Bytes, Input};

/// The byte after the last value.
const END: u8 = 0xff;
/// The first byte of a length of four bytes.
const LONG: u8 = 0xfe;

/// Passes fields and values to `visit`.
pub(super) fn read<'a>(
    mut input: Input<'a>,
    mut visit: impl FnMut(&'a [u8], &'a [u8]) -> Result<(), RdbError>,
) -> Result<(), RdbError> {
    let _count = input.byte()?;
    while let Some(length) = length(&mut input)? {
        let field = input.take(length)?;
        let Some(length) = self::length(&mut input)? else {
            return Err(input.malformed("a zipmap ends after a field"));
        };
        let unused = input.byte()?;
        let value = input.take(length)?;
        input.take(unused.into())?;
        visit(field, value)?;
    }
    match input.is_empty() {
        true => Ok(()),
        false => Err(input.malformed("a zipmap ends early")),
    }
}

/// Reads a length; `None` at the end.
fn length(input: &mut Input<'_>) -> Result<Option<u64>, RdbError> {
    Ok(match input.byte()? {
        END => None,
        LONG => Some(u32::from_le_bytes(input.array()?).into()),
        short => Some(short.into()),
    })
}
