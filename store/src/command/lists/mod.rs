//! Commands on lists.
//!
//! | file | contents |
//! |---|---|
//! | `table` | their entries in the table of commands |
//! | `push` | pushes, and the length |
//! | `pop` | pops, of one key and of several, that wait or do not |
//! | `positions` | what is at an index, or where an element is |
//! | `transfer` | from one list to another |

mod pop;
mod positions;
mod push;
mod table;
mod transfer;

pub(super) use table::COMMANDS;

use super::{Call, CommandError};
use crate::value::{End, List, Value, ValueRef};

/// Returns the list of a key to be read, if there is such a key.
fn read<'a>(call: &'a Call<'_, '_>, key: &[u8]) -> Result<Option<&'a List>, CommandError> {
    call.keys.get(key).map(ValueRef::as_list).transpose()
}

/// Returns the list of a key to be changed, if there is such a key.
fn write<'a>(call: &'a mut Call<'_, '_>, key: &[u8]) -> Result<Option<&'a mut List>, CommandError> {
    call.keys.get_mut(key).map(Value::as_list_mut).transpose()
}

/// Returns the list of a key to be changed; makes it if there is no such key.
fn write_or_make<'a>(call: &'a mut Call<'_, '_>, key: &[u8]) -> Result<&'a mut List, CommandError> {
    call.keys.get_or_insert_with(key, || Value::List(Box::default())).as_list_mut()
}

/// Reads the name of an end.
fn parse_end(arg: &[u8]) -> Option<End> {
    match arg {
        arg if arg.eq_ignore_ascii_case(b"left") => Some(End::Left),
        arg if arg.eq_ignore_ascii_case(b"right") => Some(End::Right),
        _ => None,
    }
}

/// Returns the event of a push.
fn push_event(end: End) -> &'static str {
    if end == End::Left { "lpush" } else { "rpush" }
}

/// Returns the event of a pop, which is also the command's name.
fn pop_event(end: End) -> &'static str {
    if end == End::Left { "lpop" } else { "rpop" }
}
