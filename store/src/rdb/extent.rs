//! Finds where a value in a file ends. It is decoded later, and elsewhere.

use super::codes::{
    HASH, HASH_LISTPACK, HASH_ZIPLIST, HASH_ZIPMAP, LIST, LIST_QUICKLIST, LIST_QUICKLIST_2, LIST_ZIPLIST,
    MODULE, MODULE_2, SET, SET_INTSET, SET_LISTPACK, SORTED_SET, SORTED_SET_LISTPACK, SORTED_SET_TEXT,
    SORTED_SET_ZIPLIST, STREAM, STREAM_2, STREAM_3, STRING,
};
use super::decode::NO_NUMBER;
use super::input::Pass;
use super::streams::pass_stream;
use super::{RdbError, RdbErrorKind};

/// Returns what a type is, if it is known but not there.
fn unsupported(code: u8) -> Option<&'static str> {
    match code {
        MODULE | MODULE_2 => Some("a value of a module"),
        _ => None,
    }
}

/// Returns true if values of a type can be read.
pub(super) fn is_known(code: u8) -> bool {
    matches!(code, STRING..=SORTED_SET | HASH_ZIPMAP..=STREAM_3)
}

/// Checks that values of a type can be read.
pub(super) fn check_type(code: u8, key: &[u8], offset: u64) -> Result<(), RdbError> {
    let kind = match (unsupported(code), code) {
        (Some(what), _) => RdbErrorKind::Unsupported { what, key: key.into() },
        (None, code) if is_known(code) => return Ok(()),
        (None, _) => RdbErrorKind::UnknownType(code),
    };
    Err(RdbError::new(offset, kind))
}

/// Passes a value on, of a type that can be read.
pub(super) fn pass_value(code: u8, stream: &mut impl Pass) -> Result<(), RdbError> {
    match code {
        STRING | HASH_ZIPMAP | LIST_ZIPLIST | SET_INTSET | SORTED_SET_ZIPLIST | HASH_ZIPLIST
        | HASH_LISTPACK | SORTED_SET_LISTPACK | SET_LISTPACK => return stream.pass_string(),
        STREAM | STREAM_2 | STREAM_3 => return pass_stream(code, stream),
        _ => {}
    }
    for _ in 0..stream.length()? {
        match code {
            LIST | SET | LIST_QUICKLIST => stream.pass_string()?,
            HASH => {
                stream.pass_string()?;
                stream.pass_string()?;
            }
            LIST_QUICKLIST_2 => {
                stream.length()?;
                stream.pass_string()?;
            }
            SORTED_SET => {
                stream.pass_string()?;
                stream.pass(8)?;
            }
            SORTED_SET_TEXT => {
                stream.pass_string()?;
                let length = stream.byte()?;
                stream.pass(if length < NO_NUMBER { length.into() } else { 0 })?;
            }
            _ => return Err(RdbError::new(stream.offset(), RdbErrorKind::UnknownType(code))),
        }
    }
    Ok(())
}
