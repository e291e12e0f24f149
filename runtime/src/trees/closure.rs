//! What is below a node by links: a claim of the node with all below covers that as well.

use super::node::Node;
use super::probe::PlanProbe;
use super::rights::Target;
use super::table::TreeTable;
use crate::sync::Relaxed;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Ends of links that a claim takes one by one; for others it takes the gate above.
const MOST_ENDS: usize = 32;
/// The same where the gate above is the root, which is the whole tree.
const MOST_ENDS_BELOW_ROOT: usize = 256;

impl TreeTable {
    /// Follows the links that lead out of a sub-tree, and out of what they lead to.
    ///
    /// `enter` is called with each node that a link leads to, once. It returns the top of the
    /// sub-tree to search for it: the node, or one above, which is searched as well. It returns
    /// `None` if that is not to be searched.
    ///
    /// # Safety
    ///
    /// The caller holds the sub-tree, to read at least, and each that `enter` returns.
    pub unsafe fn follow_links(&self, top: u32, mut enter: impl FnMut(Node) -> Option<u32>) {
        let (mut next, mut shared) = (Vec::from([top]), BTreeSet::new());
        while let Some(top) = next.pop() {
            let slot = self.slot(top);
            // Relaxed, here and below: the claim of the sub-tree keeps links from being made and
            // taken away there.
            if slot.links.load(Relaxed) == 0 {
                continue;
            }
            // SAFETY: the node is in a sub-tree that the caller holds.
            for &child in unsafe { slot.children() } {
                let below = self.slot(child.index);
                if below.is_shared.load(Relaxed) && !shared.insert(child.index) {
                    continue;
                }
                if below.parent.load(Relaxed) == top {
                    next.push(child.index);
                } else if let Some(top) = enter(child) {
                    next.push(top);
                    if top != child.index && !planted!("tree-linked-node-not-searched") {
                        // The search from above leaves it out, as it has come.
                        next.push(child.index);
                    }
                }
            }
        }
    }

    /// Returns the node of the nearest gate above a node.
    fn gate_node_above(&self, node: Node) -> Option<Node> {
        let gate = self.gates.get(self.path(node)?.above())?;
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
        let table = self.table;
        // Relaxed: as in `follow_links`.
        if node != TreeTable::ROOT && table.slot(node.index).links.load(Relaxed) != 0 {
            let enter = |linked| self.hold_linked(linked, write);
            // SAFETY: the claim holds the sub-tree, and those that it was granted further.
            unsafe { table.follow_links(node.index, enter) };
        }
    }

    /// Names a node that a link leads to, with all below. Returns the top of what is held for it,
    /// if that has to be searched.
    fn hold_linked(&mut self, node: Node, write: bool) -> Option<u32> {
        if planted!("tree-links-not-followed") {
            return None;
        }
        if self.table.covers_all(self.rights, node.index, write) {
            return Some(node.index);
        }
        self.linked += 1;
        if self.linked <= MOST_ENDS {
            return self.hold(Target { node, alone: false, write }).then_some(node.index);
        }
        self.hold_above(node, write)
    }

    /// Names the gate above a node that a link leads to, like [`hold_linked`](Self::hold_linked).
    fn hold_above(&mut self, node: Node, write: bool) -> Option<u32> {
        let all_below = |node| Target { node, alone: false, write };
        let top = self.table.gate_node_above(node)?;
        if top == TreeTable::ROOT && self.linked <= MOST_ENDS_BELOW_ROOT {
            return self.hold(all_below(node)).then_some(node.index);
        }
        // Named once only, for all the nodes that are below.
        if self.refused.contains(&all_below(top)) || !self.hold(all_below(top)) {
            return None;
        }
        // The node may have moved out from there.
        if !self.table.covers_all(self.rights, node.index, write) {
            return self.hold(all_below(node)).then_some(node.index);
        }
        // The root covers all there is.
        (top != TreeTable::ROOT).then_some(top.index)
    }
}
