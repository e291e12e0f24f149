//! Keys and their values: spread over shards, each an object of the runtime.
//!
//! | file | contents |
//! |---|---|
//! | `entry` | [`Entry`]: a key with its value, expiry and time of access |
//! | `block` | its memory |
//! | `shape` | which parts that has |
//! | `table` | the entries of one database in one shard |
//! | `sampling` | those that are chosen at random |
//! | `bucket` | those of a part of it |
//! | `order` | [`KeyCut`], and the order of the keys of a table, if it has one |
//! | `leaf` | a part of it |
//! | `ordering` | databases get an order and lose it |
//! | `shard` | [`Shard`]: the tables of all databases, sessions that wait for keys or watch them |
//! | `layout` | [`Layout`]: in which shard a key lies |
//! | `keys` | [`Keys`]: the shards that a task holds, as a command sees them |
//! | `put` | keys get values |
//! | `held` | the shards that a task holds |
//! | `versions` | `Versions`: what tasks read so that a snapshot is of one moment |
//! | `saving` | what a snapshot takes of a shard, and what a file brings besides values |
//! | `large_saves` | large values that it takes in parts |
//! | `ranges` | the keys between two others |
//! | `whole` | scans, counts and removal of all keys of a database |
//! | `access` | `AccessClock`: what is noted of accesses |
//! | `counting` | how much memory keys take |
//! | `eviction` | which keys go when there is too little memory |
//! | `garbage` | what is freed when the shards are left |
//! | `marks` | what the log knows of shards |
//! | `lookups` | which keys a command looks up to read them |
//! | `guests` | sessions that watch keys or wait for them |
//! | `touched` | what was changed, for sessions that track keys |

mod access;
#[allow(unsafe_code, reason = "its parts have no static layout")]
mod block;
mod bucket;
mod counting;
mod entry;
mod eviction;
mod garbage;
mod guests;
mod held;
mod keys;
mod large_saves;
mod layout;
mod leaf;
mod lookups;
mod marks;
mod order;
mod ordering;
mod put;
mod ranges;
mod sampling;
mod saving;
mod shape;
mod shard;
mod table;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
mod touched;
mod versions;
mod whole;

pub(crate) use access::AccessClock;
pub use entry::Entry;
pub(crate) use eviction::{Candidate, CandidatePool, EvictionOrder};
pub(crate) use garbage::Garbage;
pub(crate) use held::{Held, HeldShards};
pub use keys::Keys;
pub(crate) use large_saves::SavedPart;
pub use layout::Layout;
pub(crate) use lookups::LookupUse;
pub(crate) use marks::Mark;
pub use order::KeyCut;
pub use ranges::KeysInOrder;
pub use shard::Shard;
pub(crate) use shard::Waiting;
use table::Table;
pub(crate) use touched::{ChangedKey, ChangedKeys};
#[cfg(test)]
pub(crate) use versions::CROWD;
pub(crate) use versions::{VersionWord, Versions};
pub use whole::Cursor;
