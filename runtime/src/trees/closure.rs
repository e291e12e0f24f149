//! What is below a node by links: a claim of the node with all below covers that as well.

use super::key_map::NodeMap;
use super::node::Node;
use super::probe::PlanProbe;
use super::rights::Target;
use super::table::TreeTable;
use crate::sync::Relaxed;
use alloc::vec::Vec;

/// Ends of links that a claim takes one by one; for others it takes the gate above.
const MOST_ENDS: usize = 32;
/// The same where the gate above is the root, which is the whole tree.
const MOST_ENDS_BELOW_ROOT: usize = 64;

impl TreeTable {
    /// Follows the links that lead out of a sub-tree, and out of those that they lead to.
    ///
    /// `enter` is called with each node that a link leads to, once. If it returns true, the
    /// sub-tree of that node is searched as well.
    ///
    /// # Safety
    ///
    /// The caller holds the sub-tree, to read at least, and those for which `enter` returns true.
    pub unsafe fn follow_links(&self, top: u32, mut enter: impl FnMut(Node) -> bool) {
        // Relaxed, here and below: the claim of the sub-tree keeps links from being made and taken
        // away there.
        let has_links = |node: u32| self.slot(node).links.load(Relaxed) != 0;
        if !has_links(top) {
            return;
        }
        let (mut next, mut shared) = (Vec::from([top]), NodeMap::default());
        while let Some(top) = next.pop() {
            // SAFETY: the node is in a sub-tree that the caller holds.
            for &child in unsafe { self.slot(top).children() } {
                let below = self.slot(child.index);
                if below.is_shared.load(Relaxed) && shared.insert(child, ()).is_some() {
                    continue;
                }
                let is_own = below.parent.load(Relaxed) == top;
                let is_held = is_own || enter(child) && !planted!("tree-linked-node-not-searched");
                if is_held && has_links(child.index) {
                    next.push(child.index);
                }
            }
        }
    }

    /// Returns the node of the nearest gate above a node.
    fn gate_node_above(&self, node: Node) -> Option<Node> {
        let gate = self.gates.get(self.path(node)?.above)?;
        // Relaxed: a hint, which the claim of that node validates.
        let index = gate.node.load(Relaxed);
        self.nodes.get(index).map(|slot| slot.node(index))
    }
}

impl PlanProbe<'_> {
    /// Names what is below a target by links, which the claim holds with all that is below without.
    ///
    /// A target that the claim has held or waited for already may have other links now.
    #[cold]
    pub(super) fn close(&mut self, Target { node, write, .. }: Target) {
        if node != TreeTable::ROOT {
            let table = self.table;
            let enter = |linked| self.hold_linked(linked, write);
            // SAFETY: the claim holds the sub-tree, and those that it was granted further.
            unsafe { table.follow_links(node.index, enter) };
        }
    }

    /// Names the nodes to which links lead out of a sub-tree, alone and to write. The claim holds
    /// the sub-tree.
    pub(super) fn hold_ends(&mut self, top: Node) {
        let table = self.table;
        let enter = |node| {
            self.hold(&Target { node, alone: true, write: true });
            false
        };
        // SAFETY: the claim holds the sub-tree.
        unsafe { table.follow_links(top.index, enter) };
    }

    /// Names a node that a link leads to, with all below. Returns true if the claim holds it.
    fn hold_linked(&mut self, node: Node, write: bool) -> bool {
        if planted!("tree-links-not-followed") {
            return false;
        }
        if self.table.covers_all(self.rights, node.index, write) {
            return true;
        }
        self.linked += 1;
        if self.linked > MOST_ENDS && !self.hold_gate_above(node, write) {
            return false;
        }
        // The gate covers it, unless it has moved out from there.
        self.hold(&Target { node, alone: false, write })
    }

    /// Names the gate above a node, with all below. Returns false if the claim has to wait for it.
    fn hold_gate_above(&mut self, node: Node, write: bool) -> bool {
        let Some(top) = self.table.gate_node_above(node) else { return true };
        if top == TreeTable::ROOT && self.linked <= MOST_ENDS_BELOW_ROOT {
            return true;
        }
        let gate = Target { node: top, alone: false, write };
        // Named once only, for all the nodes that are below.
        !self.refused.contains(&gate) && (self.hold(&gate) || !self.refused.contains(&gate))
    }
}
