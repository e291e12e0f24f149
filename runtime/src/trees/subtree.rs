//! Walks through sub-trees.

use super::inner::TreeInner;
use super::node::{Node, NodeSlot};
use super::table::TreeTable;
use crate::sync::Relaxed;
use core::slice;
use smallvec::SmallVec;

/// A walk through the nodes of a sub-tree, each before those below it.
struct Walk<'v> {
    /// Siblings still to come, on each level above that of `siblings` where there are any.
    above: SmallVec<[slice::Iter<'v, Node>; 16]>,
    siblings: slice::Iter<'v, Node>,
    top: Option<Node>,
}

impl<'v> Walk<'v> {
    /// # Safety
    ///
    /// The caller holds the node and all below it for as long as the walk is used, in the table
    /// that it is used with.
    unsafe fn new(node: Node) -> Self {
        Self { above: SmallVec::new(), siblings: [].iter(), top: Some(node) }
    }

    /// Returns the next node and its slot in the table.
    #[inline(always)]
    fn next(&mut self, table: &'v TreeTable) -> Option<(Node, &'v NodeSlot)> {
        let node = match self.siblings.next() {
            Some(&node) => node,
            None => self.next_above()?,
        };
        // SAFETY: the node is in the sub-tree, which the maker of the walk holds: so it is in the
        // table, and its children do not change.
        let (slot, children) = unsafe {
            let slot = table.nodes.get_made(node.index);
            (slot, slot.children())
        };
        // An empty list that was long once is entered, too: then this is one comparison.
        if children.spilled() || !children.is_empty() {
            // What is left of the siblings follows later.
            let siblings = core::mem::replace(&mut self.siblings, children.iter());
            if siblings.len() > 0 {
                self.above.push(siblings);
            }
        }
        Some((node, slot))
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
        Self { walk: unsafe { Walk::new(node) }, tree }
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
        Self { walk: unsafe { Walk::new(node) }, tree, stamp }
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
        // borrows of it. Each node comes once.
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
