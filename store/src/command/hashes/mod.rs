//! Commands on hashes.
//!
//! | file | contents |
//! |---|---|
//! | `table` | their entries in the table of commands |
//! | `fields` | of fields that are named |
//! | `numbers` | of numbers in fields |
//! | `whole` | of all fields, or some that are not named |

mod fields;
mod numbers;
mod table;
mod whole;

pub(super) use table::COMMANDS;

use super::{Call, CommandError};
use crate::value::{Hash, Value, ValueRef};

/// Returns the hash of a key to be read, if there is such a key.
fn read<'a>(call: &'a Call<'_, '_>, key: &[u8]) -> Result<Option<&'a Hash>, CommandError> {
    call.keys.get(key).map(ValueRef::as_hash).transpose()
}

/// Returns the hash of a key to be changed; makes it if there is no such key.
fn write_or_make<'a>(call: &'a mut Call<'_, '_>, key: &[u8]) -> Result<&'a mut Hash, CommandError> {
    call.keys.get_or_insert_with(key, || Value::Hash(Box::default())).as_hash_mut()
}
