//! Results of operations on nodes.

use core::fmt;

/// The result of looking up a key in a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindResult {
    /// The leaf has the key, with this value.
    Value(u64),
    /// The leaf covers the key and does not have it.
    Missing,
    /// The key belongs further to the right: continue at this link.
    Right(u64),
}

/// The result of looking up a child in an inner node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescendResult {
    /// The key belongs below this child.
    Child(u64),
    /// The key belongs further to the right on the same level: continue at this link.
    Right(u64),
}

/// What a write does if the key exists or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// Adds a key; does nothing if the key exists.
    Insert,
    /// Adds a key or replaces its value.
    Upsert,
    /// Replaces the value of an existing key.
    Update,
}

/// The result of [`Layout::write`](super::Layout::write).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// The key was added.
    Inserted,
    /// The value was replaced; this was the old one.
    Replaced(u64),
    /// Nothing changed: the key exists and has this value.
    Exists(u64),
    /// Nothing changed: the key does not exist.
    Missing,
    /// Nothing changed: the node must be split first.
    Full,
    /// Nothing changed: the key belongs further to the right, at this link.
    Right(u64),
}

/// The result of [`Layout::modify`](super::Layout::modify).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModifyResult {
    /// The value was replaced.
    Done {
        /// The old value.
        old: u64,
        /// The new value.
        new: u64,
    },
    /// Nothing changed: the key does not exist.
    Missing,
    /// Nothing changed: the key belongs further to the right, at this link.
    Right(u64),
}

/// The result of [`Layout::remove`](super::Layout::remove) and
/// [`Layout::remove_child`](super::Layout::remove_child).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveResult {
    /// The key was removed.
    Done {
        /// Its value.
        value: u64,
        /// Whether few entries seem to be left: then the node should be merged with a neighbour.
        ///
        /// Always true if no entry is left. Else a node finds out only where that is cheap, and
        /// never says so while it has more than [`SPARSE`](super::Layout::SPARSE) entries.
        sparse: bool,
    },
    /// Nothing changed: the key does not exist, or it is the first one of an inner node, which
    /// stays.
    Missing,
    /// Nothing changed: the key belongs further to the right, at this link.
    Right(u64),
}

/// Two neighbouring children of an inner node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Siblings<K = u64> {
    /// Link of the left child.
    pub left: u64,
    /// Link of the right child.
    pub right: u64,
    /// Key of the right child's entry.
    pub separator: K,
}

/// Where a scan continues after a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanNext<K = u64> {
    /// At the right neighbour.
    Right {
        /// Its link.
        link: u64,
        /// The lowest key that it covers.
        low: K,
    },
    /// Nowhere: the node is the last one of its level.
    End,
}

/// A broken invariant of a node, found by [`Layout::check`](super::Layout::check).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDefect<K = u64> {
    pub(super) invariant: &'static str,
    pub(super) key: K,
}

impl<K> NodeDefect<K> {
    /// The invariant.
    pub const fn invariant(&self) -> &'static str {
        self.invariant
    }
}

impl<K: fmt::Debug> fmt::Display for NodeDefect<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at key {:?})", self.invariant, self.key)
    }
}

impl<K: fmt::Debug> core::error::Error for NodeDefect<K> {}
