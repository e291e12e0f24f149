//! Walks through sub-trees, and through what is below them by links.

use super::inner::TreeInner;
use super::node::{Node, NodeSlot};
use super::node_map::NodeMap;
use super::table::TreeTable;
use crate::sync::Relaxed;
use core::slice;
use smallvec::SmallVec;

/// A walk through the nodes of a sub-tree, each once, and before those below it.
struct Walk<'v> {
    /// Siblings still to come, on each level above that of `siblings` where there are any.
    above: SmallVec<[slice::Iter<'v, Node>; 16]>,
    siblings: slice::Iter<'v, Node>,
    top: Option<Node>,
    /// Nodes with several parents that have come; `None` if none has two in this sub-tree.
    shared: Option<NodeMap<()>>,
}

impl<'v> Walk<'v> {
    /// # Safety
    ///
    /// The caller holds the node and all below it, by links as well, for as long as the walk is
    /// used, in the table that it is used with.
    unsafe fn new(table: &TreeTable, node: Node) -> Self {
        // Relaxed: the claim keeps links from being made and taken away there.
        let has_links = table.slot(node.index).links.load(Relaxed) != 0;
        let shared = has_links.then(NodeMap::default);
        Self { above: SmallVec::new(), siblings: [].iter(), top: Some(node), shared }
    }

    /// Returns the next node and its slot in the table.
    #[inline(always)]
    fn next(&mut self, table: &'v TreeTable) -> Option<(Node, &'v NodeSlot)> {
        loop {
            let node = match self.siblings.next() {
                Some(&node) => node,
                None => self.next_above()?,
            };
            // SAFETY: the node is in the sub-tree, which the maker of the walk holds: so it is in
            // the table.
            let slot = unsafe { table.nodes.get_made(node.index) };
            // Relaxed: the maker of the walk holds the node.
            if !slot.has_relatives.load(Relaxed) || self.enter(node, slot) {
                return Some((node, slot));
            }
        }
    }

    /// Returns true if a node with relatives comes for the first time; then its children are next.
    #[inline]
    fn enter(&mut self, node: Node, slot: &'v NodeSlot) -> bool {
        // Relaxed: as in `next`.
        if slot.is_shared.load(Relaxed) && !self.is_first(node) {
            return false;
        }
        // SAFETY: the node is in the sub-tree, which the maker of the walk holds: its children do
        // not change.
        let children = unsafe { slot.children() };
        // What is left of the siblings follows later.
        let siblings = core::mem::replace(&mut self.siblings, children.iter());
        if siblings.len() > 0 {
            self.above.push(siblings);
        }
        true
    }

    /// Returns true if a node with several parents comes for the first time.
    #[cold]
    fn is_first(&mut self, node: Node) -> bool {
        let shared = self.shared.as_mut();
        shared.is_none_or(|shared| shared.insert(node, ()).is_none())
            || planted!("tree-shared-node-comes-twice")
    }

    /// Returns the next node at the end of a list of siblings.
    #[inline(always)]
    fn next_above(&mut self) -> Option<Node> {
        let Some(siblings) = self.above.pop() else { return self.top.take() };
        self.siblings = siblings;
        self.siblings.next().copied()
    }
}

/// An iterator over a node and all below it; made by [`Nodes::subtree`](super::Nodes::subtree).
pub struct Subtree<'v, D> {
    walk: Walk<'v>,
    tree: &'v TreeInner<D>,
}

impl<'v, D> Subtree<'v, D> {
    /// # Safety
    ///
    /// As for [`Walk::new`].
    pub(super) unsafe fn new(tree: &'v TreeInner<D>, node: Node) -> Self {
        // SAFETY: forwarded.
        Self { walk: unsafe { Walk::new(&tree.table, node) }, tree }
    }
}

impl<'v, D> Iterator for Subtree<'v, D> {
    type Item = (Node, &'v D);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (node, _) = self.walk.next(&self.tree.table)?;
        // SAFETY: the node is in the sub-tree, which the task holds while `'v` lasts.
        Some((node, unsafe { self.tree.read(node.index) }))
    }
}

/// An iterator over a node and all below it, to change their data; made by
/// [`Nodes::subtree_mut`](super::Nodes::subtree_mut).
pub struct SubtreeMut<'v, D> {
    walk: Walk<'v>,
    tree: &'v TreeInner<D>,
    stamp: u64,
}

impl<'v, D> SubtreeMut<'v, D> {
    /// # Safety
    ///
    /// As for [`Walk::new`], to write; and nothing of the sub-tree is borrowed meanwhile.
    pub(super) unsafe fn new(tree: &'v TreeInner<D>, node: Node, stamp: u64) -> Self {
        // SAFETY: forwarded.
        Self { walk: unsafe { Walk::new(&tree.table, node) }, tree, stamp }
    }
}

impl<'v, D> Iterator for SubtreeMut<'v, D> {
    type Item = (Node, &'v mut D);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (node, slot) = self.walk.next(&self.tree.table)?;
        // Relaxed: only this task reads it before it leaves.
        slot.writer.store(self.stamp, Relaxed);
        // SAFETY: the task holds the sub-tree to write it while `'v` lasts, and nothing else
        // borrows of it. Each node comes once, also if there are several ways to it.
        Some((node, unsafe { self.tree.write(node.index) }))
    }
}

impl<D> core::fmt::Debug for Subtree<'_, D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Subtree").finish_non_exhaustive()
    }
}

impl<D> core::fmt::Debug for SubtreeMut<'_, D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SubtreeMut").finish_non_exhaustive()
    }
}
