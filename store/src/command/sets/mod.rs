//! Commands on sets.
//!
//! | file | contents |
//! |---|---|
//! | `table` | their entries in the table of commands |
//! | `members` | of members that are named, or of all |
//! | `random` | of members chosen at random |
//! | `algebra` | of several sets: union, intersection, difference |

mod algebra;
mod members;
mod random;
mod table;

pub(super) use table::COMMANDS;

use super::{Call, CommandError};
use crate::value::{Set, ValueRef};

/// Returns the set of a key to be read, if there is such a key.
fn read<'a>(call: &'a Call<'_, '_>, key: &[u8]) -> Result<Option<&'a Set>, CommandError> {
    call.keys.get(key).map(ValueRef::as_set).transpose()
}
