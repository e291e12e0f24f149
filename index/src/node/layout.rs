//! What the tree requires of a node.

use super::{
    DescendResult, Entries, FindResult, ModifyResult, NodeDefect, RemoveResult, ScanNext, Siblings,
    WriteMode, WriteResult,
};
use crate::key_space::{KeySpace, Words};
use xtasking::{Part, Version, arena::WriteToken};

/// A key in the space of a layout that is passed along and not kept.
pub type KeyRef<'k, L> = <<L as Layout>::Keys as KeySpace>::Ref<'k>;

/// A key in the space of a layout that is kept.
pub type OwnedKey<L> = <<L as Layout>::Keys as KeySpace>::Owned;

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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layout of nodes",
    label = "does not implement `Layout`",
    note = "layouts are `HintedNode` and `SortedNode` for keys of up to 64 bits, and `BytesNode` for others"
)]
pub unsafe trait Layout: Version + Sized {
    /// The keys of the nodes.
    type Keys: KeySpace;
    /// A place in a node, found from its first lines alone.
    type Place: Copy + Default + Send;
    /// What a write has replaced outside the node, and readers may still read.
    type Replaced: Send + 'static;

    /// Entries that always fit.
    const CAPACITY: usize;
    /// A node with at most this number of entries is sparse: it should be merged with a neighbour.
    const SPARSE: usize = Self::CAPACITY / 3;
    /// The most entries of two neighbours that are merged because one of them is sparse. The node
    /// has room for insertions then, and takes as many removals to become sparse again.
    const MERGED: usize = Self::CAPACITY * 5 / 6;
    /// Entries that a bulk load offers a node at most. A tenth of the room should be left for
    /// insertions.
    const BULK_ENTRIES: usize = if Self::CAPACITY > 2 { Self::CAPACITY * 9 / 10 } else { 2 };
    /// The lines that must be fetched before [`place_of`](Self::place_of) reads the node.
    const FIRST: Part;
    /// The whole node.
    const ALL: Part;
    /// The layout's name in reports.
    const NAME: &'static str;

    /// Creates an empty node at `level` for the keys from `low` on, without a right neighbour.
    fn new(level: u64, low: KeyRef<'_, Self>) -> Self;

    /// Returns where in the node `key` is, if it is there: what [`FIRST`](Self::FIRST) tells.
    fn place_of(&self, key: KeyRef<'_, Self>) -> Self::Place;

    /// Returns the lines besides [`FIRST`](Self::FIRST) that a lookup or a write at `place` will
    /// access.
    ///
    /// It is a hint for fetching: a full block or the key `u64::MAX` can lead to other lines of the
    /// node.
    fn part_of(place: Self::Place) -> Part;

    /// Returns the lines besides [`FIRST`](Self::FIRST) that a lookup or a write of `key` will
    /// access; see [`part_of`](Self::part_of).
    #[inline(always)]
    fn locate(&self, key: KeyRef<'_, Self>) -> Part {
        Self::part_of(self.place_of(key))
    }

    /// Looks up `key` in a leaf. `place` must be that of the key at the same version of the node;
    /// for another one the result is meaningless.
    fn find_at(&self, key: KeyRef<'_, Self>, place: Self::Place) -> FindResult;

    /// Looks up `key` in a leaf.
    #[inline(always)]
    fn find(&self, key: KeyRef<'_, Self>) -> FindResult {
        self.find_at(key, self.place_of(key))
    }

    /// Returns the child of the greatest entry not above `key`, in an inner node. `place` is as for
    /// [`find_at`](Self::find_at).
    ///
    /// Until the version is validated, the link may be any link that the node ever had, or 0.
    fn descend_at(&self, key: KeyRef<'_, Self>, place: Self::Place) -> DescendResult;

    /// Returns the child of the greatest entry not above `key`, in an inner node; see
    /// [`descend_at`](Self::descend_at).
    #[inline(always)]
    fn descend(&self, key: KeyRef<'_, Self>) -> DescendResult {
        self.descend_at(key, self.place_of(key))
    }

    /// The node's level; leaves are level 0.
    fn level(&self) -> u64;

    /// The lowest key that the node covers.
    fn low(&self) -> OwnedKey<Self>;

    /// The lowest key above the node's range; `None` if the node covers all keys from `low` on.
    fn high(&self) -> Option<OwnedKey<Self>>;

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
    fn visit(
        &self,
        from: KeyRef<'_, Self>,
        visit: impl FnMut(KeyRef<'_, Self>, u64),
    ) -> ScanNext<OwnedKey<Self>>;

    /// Replaces the contents of `into` by the entries from key `from` on.
    #[inline]
    fn entries(&self, from: u64, into: &mut Entries)
    where
        Self: Layout<Keys = Words>,
    {
        into.pairs.clear();
        into.onward = self.visit(from, |key, value| into.pairs.push(key, value));
    }

    /// Returns two neighbouring children of an inner node, one of which covers `key`; `None` if the
    /// node has only one child.
    fn siblings(&self, key: KeyRef<'_, Self>) -> Option<Siblings<OwnedKey<Self>>>;

    /// Adds an entry or replaces its value, depending on `mode`.
    fn write(
        &self,
        key: KeyRef<'_, Self>,
        value: u64,
        mode: WriteMode,
        token: &WriteToken<'_>,
    ) -> WriteResult;

    /// Replaces the value of `key` by the result of `change`.
    fn modify(
        &self,
        key: KeyRef<'_, Self>,
        change: impl FnOnce(u64) -> u64,
        token: &WriteToken<'_>,
    ) -> ModifyResult;

    /// Removes `key` from a leaf.
    fn remove(&self, key: KeyRef<'_, Self>, token: &WriteToken<'_>) -> RemoveResult;

    /// Removes the child with the key `separator` from an inner node.
    ///
    /// The keys that it covered fall to the child before it. Hence the first child cannot be
    /// removed.
    fn remove_child(&self, separator: KeyRef<'_, Self>, token: &WriteToken<'_>) -> RemoveResult;

    /// Moves the upper entries of a [`Full`](WriteResult::Full) node to `right`, a new node of the
    /// same level whose link will be `link`, and returns the separator: `right`'s lowest key.
    ///
    /// `pending` is the key that did not fit. If this is the last node of its level and `pending`
    /// is above its last key, then keys probably arrive in ascending order. In that case nearly all
    /// entries stay, so that nodes behind the insertions are full. A leaf's `right` may start
    /// empty.
    fn split(
        &self,
        right: &mut Self,
        link: u64,
        pending: KeyRef<'_, Self>,
        token: &WriteToken<'_>,
    ) -> OwnedKey<Self>;

    /// Takes over the entries, the `high` and the right link of `right`, its right neighbour, which
    /// is dead afterwards: its right link leads to `link`, this node. Returns false, without
    /// changing anything, if the entries do not fit.
    fn absorb(&self, link: u64, right: &Self, token: &WriteToken<'_>, right_token: &WriteToken<'_>) -> bool;

    /// Replaces the link of the right neighbour, which has moved. There must be one.
    fn set_right(&self, link: u64, token: &WriteToken<'_>);

    /// Fills a node that is not shared yet with `pairs`, which must be in strictly ascending order
    /// of keys. `next` is the right neighbour's lowest key and link.
    ///
    /// # Panics
    ///
    /// Panics if there are more than [`CAPACITY`](Self::CAPACITY) pairs.
    fn fill(&mut self, pairs: &[(OwnedKey<Self>, u64)], next: Option<(KeyRef<'_, Self>, u64)>);

    /// Takes what writes have replaced outside the node since the last call. It must be dropped
    /// only after all readers that are under way:
    /// [`Context::drop_later`](xtasking::Context::drop_later).
    fn take_replaced(&self, token: &WriteToken<'_>) -> Option<Self::Replaced>;

    /// Returns how many of the first entries a node takes that begins at `low`, in a bulk load: at
    /// least two, if there are so many. It is offered up to [`BULK_ENTRIES`](Self::BULK_ENTRIES).
    fn bulk_len(_low: KeyRef<'_, Self>, pairs: &[(OwnedKey<Self>, u64)]) -> usize {
        pairs.len()
    }

    /// Returns the invariants that this node breaks. No writer may be active.
    fn check(&self) -> Vec<NodeDefect<OwnedKey<Self>>>;
}
