//! Links: changes of them by a task that holds their nodes.

use super::change::Holder;
use super::error::TreeError;
use super::node::{NONE, Node, NodeSlot};
use super::table::TreeTable;
use crate::sync::Relaxed;
use crate::task::drop_quietly;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

impl Holder<'_> {
    /// Makes a node a child of one more parent, at an index or behind all other children. Returns
    /// the index.
    ///
    /// # Errors
    ///
    /// If the claim does not cover both nodes to write them, and either all that is below the node
    /// or all ancestors of the parent; if the parent is below the node; or if the index is behind
    /// all children.
    pub fn link(&mut self, parent: Node, node: Node, at: Option<usize>) -> Result<usize, TreeError> {
        let above = self.written(parent)?;
        self.written(node)?;
        self.check_cycle(parent, node)?;
        // SAFETY: the claim covers the parent to write it, and nothing is borrowed of it.
        let siblings = unsafe { above.children_mut() };
        let at = at.unwrap_or(siblings.len());
        if at > siblings.len() {
            return Err(TreeError::NoSuchPlace(parent, at));
        }
        siblings.insert(at, node);
        self.open_link_place(parent.index, at);
        // SAFETY: the claim covers the node to write it, and nothing is borrowed of it.
        unsafe { self.table.add_parent(node.index, parent) };
        self.table.count_links(parent.index, 1);
        Ok(at)
    }

    /// Takes a node out of the children of a parent, once. If it is below that parent without a
    /// link, it moves to the place of its first link.
    ///
    /// # Errors
    ///
    /// If the claim does not cover both nodes to write them, or what it takes to move the node; or
    /// if the node is no child of the parent, or of no other.
    pub fn unlink(&mut self, parent: Node, node: Node) -> Result<(), TreeError> {
        self.written(parent)?;
        let slot = self.written(node)?;
        // SAFETY: the claim covers the node; the borrow ends before a change.
        let further = unsafe { self.table.further_parents(node.index) };
        if !further.contains(&parent) {
            if self.parent(slot) != Some(parent) {
                return Err(TreeError::NotLinked(parent, node));
            }
            let &heir = further.first().ok_or(TreeError::OnlyParent(node))?;
            return self.pass_on(node, slot, parent, heir);
        }
        drop_quietly(self.take_out(node, parent));
        self.remove_link(parent, node);
        Ok(())
    }

    /// Makes one of the links of a node its place.
    fn pass_on(&mut self, node: Node, slot: &NodeSlot, parent: Node, heir: Node) -> Result<(), TreeError> {
        if !self.table.covers_all(self.rights, node.index, true) {
            return Err(TreeError::NotClaimed(node));
        }
        let above = self.written(heir)?;
        self.check_place(slot, above)?;
        drop_quietly(self.take_out(node, parent));
        self.transfer(node, parent, heir);
        // Only now: until the node is below its heir, that has it by a link.
        self.remove_link(heir, node);
        Ok(())
    }

    /// Removes a link that is a child of its parent no more, or will be one without a link.
    fn remove_link(&self, parent: Node, node: Node) {
        // SAFETY: the claim covers the node to write it, and nothing is borrowed of it.
        unsafe { self.table.remove_parent(node.index, parent) };
        self.table.count_links(parent.index, -1);
    }

    /// Returns true if the claim covers the whole tree.
    pub fn covers_tree(&self, write: bool) -> bool {
        self.table.covers_all(self.rights, TreeTable::ROOT.index, write)
    }

    /// Checks that a link of a node below a parent closes no cycle, nor does it with another link
    /// that is made meanwhile.
    fn check_cycle(&self, parent: Node, node: Node) -> Result<(), TreeError> {
        if self.table.covers_all(self.rights, node.index, false) {
            match self.check_descendants(node, parent) {
                Err(TreeError::NotClaimed(_)) => {}
                // No other task makes a child of a node below this one: that takes writing it.
                result => return result,
            }
        }
        self.check_ancestors(parent, node)
    }

    /// Checks that a node is not above another one, by no way.
    ///
    /// The claim covers all ancestors: so another task makes none of them a child meanwhile, and
    /// two links cannot close a cycle together.
    fn check_ancestors(&self, parent: Node, node: Node) -> Result<(), TreeError> {
        // Each node of a long way would be looked for on the rest of the way.
        let covers_tree = self.covers_tree(false);
        let (mut next, mut seen) = (Vec::from([parent]), BTreeSet::new());
        while let Some(above) = next.pop() {
            if above == node {
                return Err(TreeError::Cycle(node, parent));
            }
            if !covers_tree {
                self.covered(above, false)?;
            }
            // SAFETY: the claim covers the node.
            let parents = unsafe { self.table.parents(above.index) };
            next.extend(parents.into_iter().filter(|above| seen.insert(above.index)));
        }
        Ok(())
    }

    /// Checks that a node is not below another one, by links neither. The claim covers the node,
    /// and the other one with all below.
    ///
    /// # Errors
    ///
    /// If it is below, or the claim does not cover all that is below by links.
    pub fn check_descendants(&self, top: Node, node: Node) -> Result<(), TreeError> {
        let table = self.table;
        let mut is_below = table.is_under(node.index, top.index, NONE);
        self.check_linked(top, false, |linked| is_below |= table.is_under(node.index, linked.index, NONE))?;
        if is_below { Err(TreeError::Cycle(top, node)) } else { Ok(()) }
    }

    /// Checks that the claim covers all that is below a node by links: it covers what is below
    /// without. Calls a function with each node that a link leads to.
    ///
    /// # Errors
    ///
    /// If the claim does not cover one of them with all below.
    pub fn check_linked(&self, top: Node, write: bool, mut visit: impl FnMut(Node)) -> Result<(), TreeError> {
        let mut result = Ok(());
        let enter = |node: Node| {
            visit(node);
            let is_covered = self.table.covers_all(self.rights, node.index, write);
            if !is_covered {
                result = Err(TreeError::NotClaimed(node));
            }
            is_covered
        };
        // SAFETY: the claim covers the sub-tree, and each of which that was just seen.
        unsafe { self.table.follow_links(top.index, enter) };
        result
    }

    /// Checks that the nodes of a sub-tree may be removed, as to their links, and counts the
    /// outside ends of these as written.
    ///
    /// # Errors
    ///
    /// If one of the nodes has a parent elsewhere, or a link leads to a node that the claim does
    /// not cover to write it.
    pub fn check_removal(&self, top: Node, nodes: &[u32]) -> Result<(), TreeError> {
        for &index in nodes {
            // SAFETY: the claim covers the whole sub-tree.
            let further = unsafe { self.table.further_parents(index) };
            let is_outside = |parent: &&Node| !self.table.is_under(parent.index, top.index, NONE);
            if let Some(&parent) = further.iter().find(is_outside) {
                return Err(TreeError::OtherParent(self.table.slot(index).node(index), parent));
            }
        }
        // SAFETY: the claim covers the whole sub-tree.
        unsafe { self.outside_ends(top, nodes) }.try_for_each(|(_, end)| self.written(end).map(drop))
    }

    /// Removes all links of nodes that are about to be removed, which
    /// [`check_removal`](Self::check_removal) allows.
    pub fn remove_links(&self, top: Node, nodes: &[u32]) {
        // SAFETY: the claim covers the whole sub-tree.
        for (parent, end) in unsafe { self.outside_ends(top, nodes) } {
            // SAFETY: the claim covers the node to write it, and nothing is borrowed of it.
            unsafe { self.table.remove_parent(end.index, parent) };
        }
        for &index in nodes {
            // SAFETY: as above.
            unsafe { self.table.forget_links(index) };
        }
    }

    /// Returns the links that lead out of a sub-tree, of these nodes.
    ///
    /// # Safety
    ///
    /// The claim covers the whole sub-tree.
    unsafe fn outside_ends(&self, top: Node, nodes: &[u32]) -> impl Iterator<Item = (Node, Node)> {
        let table = self.table;
        // Relaxed: the claim pins it.
        let nodes = if table.slot(top.index).links.load(Relaxed) == 0 { &[] } else { nodes };
        nodes.iter().flat_map(move |&index| {
            let slot = table.slot(index);
            // SAFETY: forwarded.
            let children = unsafe { slot.children() };
            let outside = children.iter().filter(move |child| {
                // Relaxed: of a child without a link the claim pins it; others have another parent.
                table.slot(child.index).parent.load(Relaxed) != index
                    && !table.is_under(child.index, top.index, NONE)
            });
            outside.map(move |&child| (slot.node(index), child))
        })
    }
}
