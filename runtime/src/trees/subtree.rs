//! Walks through sub-trees, and through what is below them by links.

use super::inner::{DataCell, TreeInner};
use super::key_map::NodeMap;
use super::node::{Node, NodeSlot};
use super::short_list::ShortList;
use super::table::TreeTable;
use crate::sync::Relaxed;
use alloc::boxed::Box;
use core::slice;

/// A walk through the nodes of a sub-tree, each once, and before those below it.
///
/// A loop keeps its place among siblings in registers. For that, no function that is called takes a
/// reference to the walk, and no array lies in it. Where a node has relatives, one function is
/// called, beside which little is needed: so there are registers enough.
struct Walk<'v> {
    siblings: slice::Iter<'v, Node>,
    /// The first node, until it has come.
    top: Option<Node>,
    /// `None` if the first node has no relatives.
    rest: Option<Box<WalkRest<'v>>>,
}

/// What a walk needs only where there are no more siblings, or a node has relatives.
struct WalkRest<'v> {
    /// Siblings still to come, on each level above where there are any.
    above: ShortList<&'v [Node], 16>,
    /// Nodes with several parents that have come; `None` if none has two in this sub-tree.
    shared: Option<NodeMap<()>>,
}

impl<'v> Walk<'v> {
    /// # Safety
    ///
    /// The caller holds the node and all below it, by links as well, for as long as the walk is
    /// used, in the tree that it is used with.
    unsafe fn new(table: &TreeTable, node: Node) -> Self {
        let slot = table.slot(node.index);
        // Relaxed, here and below: the claim keeps links from being made and taken away there.
        let has_links = slot.links.load(Relaxed) != 0;
        let rest =
            || Box::new(WalkRest { above: ShortList::new(), shared: has_links.then(NodeMap::default) });
        let rest = slot.has_relatives.load(Relaxed).then(rest);
        Self { siblings: [].iter(), top: Some(node), rest }
    }

    /// Returns the next node with its slot and its data in this tree.
    #[inline(always)]
    fn next<D>(&mut self, tree: &'v TreeInner<D>) -> Option<(Node, &'v NodeSlot, &'v DataCell<D>)> {
        loop {
            let node = match self.siblings.next() {
                Some(&node) => node,
                None => match WalkRest::leave(self.rest.as_deref_mut()) {
                    [first, others @ ..] => {
                        self.siblings = others.iter();
                        *first
                    }
                    [] => self.top.take()?,
                },
            };
            // SAFETY: the node is in the sub-tree, which the maker of the walk holds: so it is in
            // the tables.
            let (slot, data) = unsafe { (tree.table.nodes.get_made(node.index), tree.cell(node.index)) };
            // Relaxed: the maker of the walk holds the node.
            if !slot.has_relatives.load(Relaxed) {
                return Some((node, slot, data));
            }
            let siblings = self.siblings.as_slice();
            // SAFETY: as above.
            let children = unsafe { WalkRest::enter(self.rest.as_deref_mut(), node.index, slot, siblings) };
            self.siblings = children.unwrap_or_default().iter();
            if children.is_some() {
                return Some((node, slot, data));
            }
        }
    }
}

impl<'v> WalkRest<'v> {
    /// Returns the children of a node with relatives, which are next; `None` if it has come before.
    /// The siblings that are left follow later.
    ///
    /// # Safety
    ///
    /// The caller holds the node for as long as the walk is used.
    #[inline(never)]
    unsafe fn enter(
        rest: Option<&mut Self>,
        index: u32,
        slot: &'v NodeSlot,
        siblings: &'v [Node],
    ) -> Option<&'v [Node]> {
        let rest = rest?;
        // Relaxed: the caller holds the node.
        if slot.is_shared.load(Relaxed) || !rest.above.has_room_inside() {
            // SAFETY: forwarded.
            return unsafe { rest.enter_rarely(index, slot, siblings) };
        }
        if !siblings.is_empty() {
            rest.above.push(siblings);
        }
        // SAFETY: the caller holds the node: its children do not change.
        Some(unsafe { slot.children() })
    }

    /// Enters a node with several parents, or on a deep level: no other call saves registers.
    ///
    /// # Safety
    ///
    /// As for [`enter`](Self::enter).
    #[cold]
    #[inline(never)]
    unsafe fn enter_rarely(
        &mut self,
        index: u32,
        slot: &'v NodeSlot,
        siblings: &'v [Node],
    ) -> Option<&'v [Node]> {
        if !siblings.is_empty() {
            self.above.push(siblings);
        }
        // Relaxed: the caller holds the node.
        let shared = self.shared.as_mut().filter(|_| slot.is_shared.load(Relaxed));
        let is_first = shared.is_none_or(|shared| shared.insert(slot.present(index), ()).is_none());
        // SAFETY: the caller holds the node: its children do not change.
        let children = unsafe { slot.children() };
        (is_first || planted!("tree-shared-node-comes-twice")).then_some(children)
    }

    /// Returns the siblings that come next, behind the last of a list; none if there are none on
    /// any level.
    #[inline(never)]
    fn leave(rest: Option<&mut Self>) -> &'v [Node] {
        rest.and_then(|rest| rest.above.pop()).unwrap_or_default()
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
        let (node, _, data) = self.walk.next(self.tree)?;
        // SAFETY: the node is in the sub-tree, which the task holds while `'v` lasts.
        Some((node, unsafe { data.read() }))
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
        let (node, slot, data) = self.walk.next(self.tree)?;
        // Relaxed: only this task reads it before it leaves.
        slot.writer.store(self.stamp, Relaxed);
        // SAFETY: the task holds the sub-tree to write it while `'v` lasts, and nothing else
        // borrows of it. Each node comes once, also if there are several ways to it.
        Some((node, unsafe { data.write() }))
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
