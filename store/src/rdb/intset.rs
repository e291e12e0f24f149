//! A set of integers in one string: their width, their number, and then they.

use super::RdbError;
use super::input::{Bytes, Input, text};
use std::borrow::Cow;

/// Passes the members to `visit`.
pub(super) fn read(
    mut input: Input<'_>,
    mut visit: impl FnMut(Cow<'_, [u8]>) -> Result<(), RdbError>,
) -> Result<(), RdbError> {
    let width = u32::from_le_bytes(input.array()?);
    let count = u32::from_le_bytes(input.array()?);
    if !matches!(width, 2 | 4 | 8) || u64::from(width) * u64::from(count) != input.left() as u64 {
        return Err(input.malformed("a set of integers has another size than it says"));
    }
    for _ in 0..count {
        let member = match width {
            2 => i16::from_le_bytes(input.array()?).into(),
            4 => i32::from_le_bytes(input.array()?).into(),
            _ => i64::from_le_bytes(input.array()?),
        };
        visit(text(member))?;
    }
    Ok(())
}
