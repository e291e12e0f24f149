//! Walks through sub-trees, and through what is below them by links.

use super::inner::TreeInner;
use super::node::{Node, NodeSlot};
use super::node_map::NodeMap;
use super::short_list::ShortList;
use super::table::TreeTable;
use crate::sync::Relaxed;
use core::slice;

/// A walk through the nodes of a sub-tree, each once, and before those below it.
struct Walk<'v> {
    siblings: slice::Iter<'v, Node>,
    rest: WalkRest<'v>,
}

/// What a walk needs only where there are no more siblings, or a node has relatives.
struct WalkRest<'v> {
    /// Siblings still to come, on each level above where there are any.
    above: ShortList<&'v [Node], 16>,
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
        Self { siblings: [].iter(), rest: WalkRest { above: ShortList::new(), top: Some(node), shared } }
    }

    /// Returns the next node and its slot in the table.
    #[inline(always)]
    fn next(&mut self, table: &'v TreeTable) -> Option<(Node, &'v NodeSlot)> {
        self.rest.next(&mut self.siblings, table)
    }

    /// Calls a function with each node and its slot in the table, in one loop: so it keeps its
    /// place among siblings in registers, which an iterator keeps in memory.
    #[inline(always)]
    fn fold<B>(
        self,
        table: &'v TreeTable,
        mut value: B,
        mut visit: impl FnMut(B, Node, &'v NodeSlot) -> B,
    ) -> B {
        let Self { mut siblings, mut rest } = self;
        while let Some((node, slot)) = rest.next(&mut siblings, table) {
            value = visit(value, node, slot);
        }
        value
    }
}

impl<'v> WalkRest<'v> {
    #[inline(always)]
    fn next(
        &mut self,
        siblings: &mut slice::Iter<'v, Node>,
        table: &'v TreeTable,
    ) -> Option<(Node, &'v NodeSlot)> {
        loop {
            let node = match siblings.next() {
                Some(&node) => node,
                None => {
                    let node;
                    (node, *siblings) = self.next_above()?;
                    node
                }
            };
            // SAFETY: the node is in the sub-tree, which the maker of the walk holds: so it is in
            // the table.
            let slot = unsafe { table.nodes.get_made(node.index) };
            // Relaxed: the maker of the walk holds the node.
            if !slot.has_relatives.load(Relaxed) {
                return Some((node, slot));
            }
            if let Some(children) = self.enter(node, slot, siblings.as_slice()) {
                *siblings = children.iter();
                return Some((node, slot));
            }
        }
    }

    /// Returns the children of a node with relatives, which are next if it comes for the first
    /// time. The siblings that are left follow later.
    #[inline(always)]
    fn enter(&mut self, node: Node, slot: &'v NodeSlot, siblings: &'v [Node]) -> Option<&'v [Node]> {
        // Relaxed: as in `next`.
        if slot.is_shared.load(Relaxed) && !self.is_first(node) {
            return None;
        }
        if !siblings.is_empty() {
            self.above.push(siblings);
        }
        // SAFETY: the node is in the sub-tree, which the maker of the walk holds: its children do
        // not change.
        Some(unsafe { slot.children() })
    }

    /// Returns true if a node with several parents comes for the first time.
    #[cold]
    fn is_first(&mut self, node: Node) -> bool {
        let shared = self.shared.as_mut();
        shared.is_none_or(|shared| shared.insert(node, ()).is_none())
            || planted!("tree-shared-node-comes-twice")
    }

    /// Returns the next node at the end of a list of siblings, and the siblings behind it.
    #[inline(always)]
    fn next_above(&mut self) -> Option<(Node, slice::Iter<'v, Node>)> {
        match self.above.pop() {
            Some(siblings) => siblings.split_first().map(|(first, others)| (*first, others.iter())),
            None => self.top.take().map(|top| (top, [].iter())),
        }
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

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, value: B, mut visit: F) -> B {
        let Self { walk, tree } = self;
        walk.fold(&tree.table, value, |value, node, _| {
            // SAFETY: as in `next`.
            visit(value, (node, unsafe { tree.read(node.index) }))
        })
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

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, value: B, mut visit: F) -> B {
        let Self { walk, tree, stamp } = self;
        walk.fold(&tree.table, value, |value, node, slot| {
            // Relaxed: as in `next`.
            slot.writer.store(stamp, Relaxed);
            // SAFETY: as in `next`.
            visit(value, (node, unsafe { tree.write(node.index) }))
        })
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
