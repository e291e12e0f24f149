//! A sequence of strings and integers in one string: a listpack.
//!
//! Its size in four bytes and its number of entries in two, of which all ones say that there are
//! more; the entries; and a byte of all ones. An entry is followed by its own length, seven bits a
//! byte, so that the sequence can be read from its end.

use super::RdbError;
use super::input::{Bytes, Input};
use crate::value::listpack::{self, END, MANY};
use std::borrow::Cow;

/// Passes the entries to `visit`. Returns their number.
pub(super) fn read<'a>(
    mut input: Input<'a>,
    mut visit: impl FnMut(Cow<'a, [u8]>) -> Result<(), RdbError>,
) -> Result<usize, RdbError> {
    if !input.states_own_size()? {
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
    if input.rest().first() == Some(&END) {
        input.byte()?;
        return Ok(None);
    }
    let found = listpack::decode(input.rest());
    let (entry, size) = found.ok_or_else(|| input.malformed("an entry of a listpack is malformed"))?;
    input.take(size as u64)?;
    Ok(Some(entry.text()))
}
