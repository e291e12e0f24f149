//! What is below a node by links: a claim of the node with all below covers that as well.

use super::node::Node;
use super::probe::PlanProbe;
use super::rights::Target;
use super::table::TreeTable;
use crate::sync::Relaxed;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Targets from which on a claim does not take each node that a link leads to, but the whole gate
/// above it.
const MOST_TARGETS: usize = 32;

impl TreeTable {
    /// Follows the links that lead out of sub-trees, and out of what they lead to.
    ///
    /// `enter` is called with each node that a link leads to, once. It returns the top of the
    /// sub-tree to search next: the node, or one above it. It returns `None` if that is not to be
    /// searched.
    ///
    /// # Safety
    ///
    /// The caller holds the sub-trees of `tops`, to read at least, and each that `enter` returns.
    pub unsafe fn follow_links(&self, tops: Vec<u32>, mut enter: impl FnMut(Node) -> Option<u32>) {
        let mut shared = BTreeSet::new();
        let mut next = tops;
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
                } else {
                    next.extend(enter(child));
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
    #[cold]
    pub(super) fn close(&mut self, target: Target) {
        let top = target.node.index;
        // Relaxed: as in `follow_links`.
        if target.node != TreeTable::ROOT && self.table.slot(top).links.load(Relaxed) != 0 {
            self.close_sub_trees(Vec::from([top]), target.write);
        }
    }

    /// Names what is below by links now for all targets that the claim has waited for: links were
    /// made and taken away meanwhile.
    #[cold]
    pub(super) fn close_all(&mut self) {
        if planted!("tree-links-not-looked-up-anew") {
            return;
        }
        for write in [true, false] {
            let is_top = |target: &&Target| !target.alone && target.write == write;
            let targets = self.rights.targets.iter().filter(is_top);
            let targets = targets.filter(|target| self.table.find(target.node).is_some());
            let tops: Vec<u32> = targets.map(|target| target.node.index).collect();
            if !tops.contains(&TreeTable::ROOT.index) {
                self.close_sub_trees(tops, write);
            }
        }
    }

    fn close_sub_trees(&mut self, tops: Vec<u32>, write: bool) {
        let table = self.table;
        // SAFETY: the claim holds the sub-trees, and those that it was granted further.
        unsafe { table.follow_links(tops, |node| self.hold_linked(node, write)) };
    }

    /// Names a node that a link leads to, with all below. Returns the top of what is held for it,
    /// if that has to be searched.
    fn hold_linked(&mut self, node: Node, write: bool) -> Option<u32> {
        if planted!("tree-links-not-followed") {
            return None;
        }
        if !self.has_many_targets() || self.table.covers_all(self.rights, node.index, write) {
            return self.hold(Target { node, alone: false, write }).then_some(node.index);
        }
        let top = self.table.gate_node_above(node)?;
        let target = Target { node: top, alone: false, write };
        if self.refused.contains(&target) {
            return None;
        }
        let is_held = self.hold(target);
        // The node may have moved out from there.
        if is_held && !self.table.covers_all(self.rights, node.index, write) {
            return self.hold(Target { node, alone: false, write }).then_some(node.index);
        }
        // The root covers all there is.
        (is_held && top != TreeTable::ROOT).then_some(top.index)
    }

    fn has_many_targets(&self) -> bool {
        self.rights.targets.len() + self.refused.len() > MOST_TARGETS
    }
}
