//! What the tree requires of a node.

use super::{
    DescendResult, Entries, FindResult, ModifyResult, NodeDefect, RemoveResult, ScanNext, Siblings,
    WriteMode, WriteResult,
};
use xtasking::{Part, Version, arena::WriteToken};

/// How a node arranges its entries in cache lines.
///
/// **Reading** functions take `&self` and may run while a writer is active (see the
/// [module](crate::node)). [`find`](Self::find), [`visit`](Self::visit) and
/// [`remove`](Self::remove) are for leaves, [`descend`](Self::descend),
/// [`siblings`](Self::siblings) and [`remove_child`](Self::remove_child) for inner nodes, the
/// others for both. On the path of a lookup or a write no function checks which of the two the node
/// is: the caller knows.
///
/// **Writing** functions take `&self` and a [`WriteToken`]: the caller excludes other writers, and
/// readers will find the version changed. Keys must not be below the node's `low`; for keys from
/// `high` on, the result is `Right`. What writing functions read is not torn, and their results are
/// final.
///
/// Nodes that are **not shared yet** are changed through `&mut self`.
///
/// # Safety
///
/// The tree follows what a node returns as the link of a child or of the right neighbour. Even
/// while a writer is active, such a link must be 0 or a word that was stored as a link there.
pub unsafe trait Layout: Version + Sized {
    /// Entries that always fit.
    const CAPACITY: usize;
    /// The lines that must be fetched before [`locate`](Self::locate) reads the node.
    const FIRST: Part;
    /// The whole node.
    const ALL: Part;
    /// The layout's name in reports.
    const NAME: &'static str;

    /// Creates an empty node at `level` for the keys from `low` on, without a right neighbour.
    fn new(level: u64, low: u64) -> Self;

    /// Returns the lines besides [`FIRST`](Self::FIRST) that a lookup or a write of `key` will
    /// access.
    ///
    /// It is a hint for fetching: a full block or the key `u64::MAX` can lead to other lines of the
    /// node.
    fn locate(&self, key: u64) -> Part;

    /// Looks up `key` in a leaf.
    fn find(&self, key: u64) -> FindResult;

    /// Returns the child of the greatest entry not above `key`, in an inner node.
    ///
    /// Until the version is validated, the link may be any link that the node ever had, or 0.
    fn descend(&self, key: u64) -> DescendResult;

    /// The node's level; leaves are level 0.
    fn level(&self) -> u64;

    /// The lowest key that the node covers.
    fn low(&self) -> u64;

    /// The lowest key above the node's range; `None` if the node covers all keys from `low` on.
    fn high(&self) -> Option<u64>;

    /// The link of the right neighbour; 0 if there is none.
    fn right(&self) -> u64;

    /// Returns true if the node was merged into its left neighbour.
    fn is_dead(&self) -> bool;

    /// Number of entries. Nodes need not keep a count: this may read all entries.
    fn len(&self) -> usize;

    /// Returns true if there are no entries.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` for the entries from key `from` on, in order, and returns where the scan
    /// continues.
    ///
    /// `visit` also runs while a writer is active: discard what it has collected unless the version
    /// is validated. It is called at most [`Entries::CAPACITY`] times.
    fn visit(&self, from: u64, visit: impl FnMut(u64, u64)) -> ScanNext;

    /// Replaces the contents of `into` by the entries from key `from` on.
    #[inline]
    fn entries(&self, from: u64, into: &mut Entries) {
        into.pairs.clear();
        into.onward = self.visit(from, |key, value| into.pairs.push(key, value));
    }

    /// Returns two neighbouring children of an inner node, one of which covers `key`; `None` if the
    /// node has only one child.
    fn siblings(&self, key: u64) -> Option<Siblings>;

    /// Adds an entry or replaces its value, depending on `mode`.
    fn write(&self, key: u64, value: u64, mode: WriteMode, token: &WriteToken<'_>) -> WriteResult;

    /// Replaces the value of `key` by the result of `change`.
    fn modify(&self, key: u64, change: impl FnOnce(u64) -> u64, token: &WriteToken<'_>) -> ModifyResult;

    /// Removes `key` from a leaf.
    fn remove(&self, key: u64, token: &WriteToken<'_>) -> RemoveResult;

    /// Removes the child with the key `separator` from an inner node.
    ///
    /// The keys that it covered fall to the child before it. Hence the first child cannot be
    /// removed.
    fn remove_child(&self, separator: u64, token: &WriteToken<'_>) -> RemoveResult;

    /// Moves the upper entries of a [`Full`](WriteResult::Full) node to `right`, a new node of the
    /// same level whose link will be `link`, and returns the separator: `right`'s lowest key.
    ///
    /// `pending` is the key that did not fit. If this is the last node of its level and `pending`
    /// is above its last key, then keys probably arrive in ascending order. In that case nearly all
    /// entries stay, so that nodes behind the insertions are full. A leaf's `right` may start
    /// empty.
    fn split(&self, right: &mut Self, link: u64, pending: u64, token: &WriteToken<'_>) -> u64;

    /// Takes over the entries, the `high` and the right link of `right`, its right neighbour, which
    /// is dead afterwards: its right link leads to `link`, this node. Returns false, without
    /// changing anything, if the entries do not fit.
    fn absorb(&self, link: u64, right: &Self, token: &WriteToken<'_>, right_token: &WriteToken<'_>) -> bool;

    /// Fills a node that is not shared yet with `pairs`, which must be in strictly ascending order
    /// of keys. `next` is the right neighbour's lowest key and link.
    ///
    /// # Panics
    ///
    /// Panics if there are more than [`CAPACITY`](Self::CAPACITY) pairs.
    fn fill(&mut self, pairs: &[(u64, u64)], next: Option<(u64, u64)>);

    /// Returns the invariants that this node breaks. No writer may be active.
    fn check(&self) -> Vec<NodeDefect>;
}
