//! The nodes of the tree, and their layouts.
//!
//! A node is one versioned object. Readers may read it while a writer changes it, so all its fields
//! are [`Word`](xtasking::Word)s. Such a reader may see *torn* contents, and learns this only
//! afterwards, from the object's version. Hence every function that reads terminates, stays in
//! bounds and never panics, whatever the words contain. Its result is meaningful only once the
//! version is validated.
//!
//! Keys are of one [`KeySpace`](crate::KeySpace), words or byte strings; values are words. All of
//! them are valid, including 0 and `u64::MAX`. A node holds the keys of a range `low <= key <
//! high`. The rightmost node of a level has neither `high` nor a right neighbour. Links to other
//! nodes are opaque non-zero words; 0 means none. Leaves have level 0 and map keys to values. Inner
//! nodes map each child's lowest key (its *separator*) to the child's link. Their first key is
//! their own `low` and never changes.
//!
//! Three layouts implement [`Layout`]:
//!
//! - [`HintedNode`]: the first cache line tells which two of the others hold a key. A lookup reads
//!   three lines (sometimes four) and knows all of them after the first.
//! - [`SortedNode`]: one sorted array with binary search. Which lines a search reads depends on the
//!   keys it compares with, so the whole node has to be fetched to avoid cache misses.
//! - [`BytesNode`], for byte strings: the first two lines tell which five of the others hold a key.
//!
//! Offsets are counted from the start of the cell that holds a node. Its first 16 bytes are the
//! object's header, followed by the node's words. A cell's size is a power of two, and it is
//! aligned to a cache line.
//!
//! | file | contents |
//! |---|---|
//! | `layout` | what the tree requires of a node: [`Layout`] |
//! | `results` | results of operations on nodes |
//! | `entries` | the buffer of a scan: [`Entries`] |
//! | `hinted` | [`HintedNode`] |
//! | `block` | the blocks of a hinted node |
//! | `search` | searches of cache lines of keys, by vectors where the processor has them |
//! | `sorted` | [`SortedNode`] |
//! | `bytes` | [`BytesNode`] |
//! | `pairs` | a buffer for the entries of a node |

mod block;
mod bytes;
mod entries;
mod hinted;
mod layout;
mod pairs;
mod results;
mod search;
mod sorted;
#[cfg(test)]
mod tests;

pub use bytes::{BytesNode, BytesPlace, ReplacedSides};
pub use entries::Entries;
pub use hinted::HintedNode;
pub use layout::{KeyRef, Layout, OwnedKey};
pub use results::{
    DescendResult, FindResult, ModifyResult, NodeDefect, RemoveResult, ScanNext, Siblings, WriteMode,
    WriteResult,
};
pub use sorted::SortedNode;

/// Bytes of an object's header, which shares the node's first cache line.
pub const HEADER_BYTES: usize = 16;

/// Returns the words of a node whose cell, including the header, has `bytes` bytes.
pub const fn words(bytes: usize) -> usize {
    (bytes - HEADER_BYTES) / 8
}
