//! Keys and their values: spread over shards, each an object of the runtime.
//!
//! | file | contents |
//! |---|---|
//! | `entry` | a key with its value, expiry and time of access |
//! | `table` | the entries of one database in one shard |
//! | `shard` | [`Shard`]: the tables of all databases, and who waits for keys or watches them |
//! | `layout` | [`Layout`]: in which shard a key lies |
//! | `keys` | [`Keys`]: the shards that a task holds, as a command sees them |

mod entry;
mod keys;
mod layout;
mod shard;
mod table;

pub use entry::Entry;
pub use keys::Keys;
pub(crate) use keys::{Expired, Held};
pub use layout::Layout;
pub use shard::Shard;
pub(crate) use shard::Waiting;
pub(crate) use table::Table;
