//! The tree's nodes.
//!
//! A node is one versioned object. Readers look at it while one writer may be changing it, so everything in
//! it is a [`Word`](xtasking::Word): a reader may meet *torn* contents, and finds out from the object's
//! version only afterwards. Every reading function here therefore terminates, stays in bounds and never
//! panics whatever the words hold; what it returns means something only once the version has been confirmed.
//!
//! Keys and values are plain `u64` words, and all of them are valid, 0 and `u64::MAX` included. A node holds
//! the keys of a range `low <= key < high`; the rightmost node of its level has no `high` and no node to its
//! right. Links to other nodes are opaque non-zero words; 0 is "none". Leaves have level 0 and map keys to
//! values. Inner nodes map each child's lowest key (its *separator*) to the child's link; their first entry's
//! key is the node's own `low` and stays there for as long as the node lives.
//!
//! Two layouts implement [`Layout`]:
//!
//! - [`Hinted`]: the first cache line tells which two of the others hold a key, so a lookup touches three
//!   lines (at times four) and knows all of them after the first.
//! - [`Sorted`]: one sorted array and a binary search. The search's path depends on the keys it meets, so the
//!   whole node has to be fetched for a lookup to run without a miss.
//!
//! Offsets are counted from the cell that holds a node: its first 16 bytes are the object's header, the
//! node's words follow, and the whole fills a power of two of bytes, aligned to a cache line.

mod block;
mod hinted;
mod pairs;
mod sorted;
#[cfg(test)]
mod tests;

pub use hinted::Hinted;
pub use sorted::Sorted;

use core::fmt;
use pairs::Pairs;
use xtasking::{Part, Version, WriteToken};

/// Bytes of an object's header, which shares the node's first cache line.
pub const HEADER: usize = 16;

/// Words of a node whose cell, header included, has `bytes` bytes.
pub const fn words(bytes: usize) -> usize {
    (bytes - HEADER) / 8
}

/// What a leaf says about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The key is there, with this value.
    Value(u64),
    /// The leaf covers the key and does not hold it.
    Missing,
    /// The key belongs to the right: go on at this link.
    Right(u64),
}

/// Where an inner node sends a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// To this child.
    Child(u64),
    /// To the right on the same level: go on at this link.
    Right(u64),
}

/// What [`Layout::write`] does about keys that are there or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Adds a key; leaves one that exists alone.
    Insert,
    /// Adds a key or replaces its value.
    Upsert,
    /// Replaces the value of a key that exists.
    Update,
}

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrote {
    /// The key is new.
    Inserted,
    /// The key had this value, and now has the new one.
    Replaced(u64),
    /// Nothing changed: the key exists already and has this value.
    Exists(u64),
    /// Nothing changed: there is no such key.
    Missing,
    /// Nothing changed: the node must be split first.
    Full,
    /// Nothing changed: the key belongs to the right, at this link.
    Right(u64),
}

/// What came of changing a value in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modified {
    /// The value was changed.
    Done {
        /// The value before.
        old: u64,
        /// The value after.
        new: u64,
    },
    /// Nothing changed: there is no such key.
    Missing,
    /// Nothing changed: the key belongs to the right, at this link.
    Right(u64),
}

/// What came of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The key is gone.
    Done {
        /// The value it had.
        value: u64,
        /// Whether it was the node's last entry.
        empty: bool,
    },
    /// Nothing changed: there is no such key (or, in an inner node, it is the first one, which stays).
    Missing,
    /// Nothing changed: the key belongs to the right, at this link.
    Right(u64),
}

/// Two neighbouring children of an inner node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Siblings {
    /// Link of the left one.
    pub left: u64,
    /// Link of the right one.
    pub right: u64,
    /// Key of the right one's entry.
    pub separator: u64,
}

/// Where a scan goes after a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// To the right neighbour.
    Right {
        /// Its link.
        link: u64,
        /// The lowest key it covers: where the scan goes on.
        low: u64,
    },
    /// Nowhere: this is the last node of its level.
    End,
}

/// The entries of one node from some key on, in order: the buffer of a scan.
pub struct Entries {
    onward: Onward,
    pairs: Pairs<{ Self::MOST }>,
}

impl Entries {
    /// The most entries that a node of any supported size holds.
    pub const MOST: usize = 256;

    /// An empty buffer.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { onward: Onward::End, pairs: Pairs::new() }
    }

    /// The entries in key order.
    #[inline]
    pub fn pairs(&self) -> &[(u64, u64)] {
        self.pairs.as_slice()
    }

    /// Where the scan goes after these entries.
    #[inline]
    pub const fn onward(&self) -> Onward {
        self.onward
    }
}

impl Default for Entries {
    fn default() -> Self {
        Self::new()
    }
}

/// An invariant that a node breaks; what [`Layout::check`] finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(&'static str, u64);

impl Broken {
    /// The invariant.
    pub const fn invariant(&self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at {:#x})", self.0, self.1)
    }
}

impl core::error::Error for Broken {}

/// How a node arranges its entries in cache lines.
///
/// **Reading** functions take `&self` and may run beside a writer (see the [module](self)).
/// [`find`](Self::find), [`visit`](Self::visit) and [`remove`](Self::remove) are for leaves,
/// [`descend`](Self::descend), [`siblings`](Self::siblings) and [`remove_child`](Self::remove_child) for
/// inner nodes; the others serve both. No function on the path of a lookup or a write asks the node which of
/// the two it is: the caller knows.
///
/// **Writing** functions take `&self` and a [`WriteToken`]: the caller holds the node against other writers,
/// and its readers will find the version changed. They must be given keys that are not below the node's
/// `low`; keys from `high` on are answered with `Right`. What they read is therefore whole, and their answers
/// are final.
///
/// **Unpublished** nodes are changed through `&mut self`.
///
/// # Safety
///
/// The tree follows what a node gives out as the link of a child or of a right neighbour. Even where a writer is at
/// work, that is 0 or a word that was put there as such a link.
pub unsafe trait Layout: Version + Sized {
    /// How many entries always fit.
    const CAPACITY: usize;
    /// What must have been fetched before [`locate`](Self::locate) looks.
    const FIRST: Part;
    /// The whole node.
    const ALL: Part;
    /// The layout's name in reports.
    const NAME: &'static str;

    /// An empty node at `level` for the keys from `low` on, with nothing to its right.
    fn new(level: u64, low: u64) -> Self;

    /// The lines beside [`FIRST`](Self::FIRST) that a lookup or a write of `key` will touch.
    ///
    /// A hint for fetching, not a promise: a full block or the key `u64::MAX` can lead elsewhere in the node.
    fn locate(&self, key: u64) -> Part;

    /// Looks `key` up in a leaf.
    fn find(&self, key: u64) -> Found;

    /// The child of the greatest entry not above `key`, in an inner node.
    ///
    /// The link may be any word, 0 included, until the version has been confirmed.
    fn descend(&self, key: u64) -> Down;

    /// The node's level; leaves are level 0.
    fn level(&self) -> u64;

    /// The lowest key that the node covers.
    fn low(&self) -> u64;

    /// The lowest key that it does not cover; `None` if it covers all from `low` on.
    fn high(&self) -> Option<u64>;

    /// The link of the right neighbour; 0 if there is none.
    fn right(&self) -> u64;

    /// Whether the node was merged into its left neighbour.
    fn is_dead(&self) -> bool;

    /// How many entries there are. Nodes need not keep a count: this may look at all of them.
    fn len(&self) -> usize;

    /// Whether there is no entry.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` with the entries from key `from` on, in order, and says where to go on.
    ///
    /// `visit` runs beside writers as well: what it was given is void unless the version is confirmed. It is
    /// called at most [`Entries::MOST`] times.
    fn visit(&self, from: u64, visit: impl FnMut(u64, u64)) -> Onward;

    /// Copies the entries from key `from` on into `into`, in place of what it held.
    #[inline]
    fn entries(&self, from: u64, into: &mut Entries) {
        into.pairs.clear();
        into.onward = self.visit(from, |key, value| into.pairs.push(key, value));
    }

    /// Two neighbouring children of this inner node of which one covers `key`; `None` if it has only one
    /// child.
    fn siblings(&self, key: u64) -> Option<Siblings>;

    /// Adds an entry or replaces its value, as `how` says.
    fn write(&self, key: u64, value: u64, how: Write, token: &WriteToken<'_>) -> Wrote;

    /// Replaces the value of `key` by `change` of it.
    fn modify(&self, key: u64, change: impl FnOnce(u64) -> u64, token: &WriteToken<'_>) -> Modified;

    /// Removes `key` from a leaf.
    fn remove(&self, key: u64, token: &WriteToken<'_>) -> Removed;

    /// Removes the child whose entry's key is exactly `separator` from an inner node.
    ///
    /// The keys that it covered fall to the child before it, so the first child cannot be removed.
    fn remove_child(&self, separator: u64, token: &WriteToken<'_>) -> Removed;

    /// Moves the upper entries of a [`Full`](Wrote::Full) node to `right`, a new node of the same level whose
    /// link will be `link`, and returns the separator, `right`'s lowest key.
    ///
    /// `pending` is the key that did not fit. If this is the last node of its level and `pending` lies beyond
    /// its last key, then keys probably arrive in ascending order: nearly all entries stay, so that nodes
    /// that nobody will add to are full. A leaf's `right` may start empty.
    fn split(&self, right: &mut Self, link: u64, pending: u64, token: &WriteToken<'_>) -> u64;

    /// Takes over the entries, the `high` and the right link of `right`, the right neighbour, which is dead
    /// afterwards: whoever still comes to it is sent here, to `link`. Returns `false`, having changed
    /// nothing, if the entries do not fit in here.
    fn absorb(&self, link: u64, right: &Self, token: &WriteToken<'_>, right_token: &WriteToken<'_>) -> bool;

    /// Fills an unpublished node with `pairs`, in strictly ascending order of keys, and links it to the
    /// right: `next` is the right neighbour's lowest key and its link.
    ///
    /// # Panics
    ///
    /// If there are more than [`CAPACITY`](Self::CAPACITY) pairs.
    fn fill(&mut self, pairs: &[(u64, u64)], next: Option<(u64, u64)>);

    /// The invariants that this node breaks by itself. Only for nodes that nobody is changing.
    fn check(&self) -> Vec<Broken>;
}
