//! What a claim covers: its targets, and what is below those that are not alone.

use super::node::{NONE, Node};
use super::rights::{Rights, Target};
use super::table::TreeTable;
use crate::sync::Relaxed;

impl Target {
    #[inline(always)]
    fn allows(&self, write: bool) -> bool {
        self.write || !write
    }
}

impl TreeTable {
    /// Returns true if a claim covers a node, to read it or to write it.
    ///
    /// The claim pins the way from the node to the target that covers it. If there is none, the way
    /// may change while it is climbed, but it cannot lead to a target: a node comes below one only
    /// by a task that writes there.
    #[inline(always)]
    pub fn covers(&self, rights: &Rights, node: Node, write: bool) -> bool {
        let is_it = |target: &Target| target.node == node && target.allows(write);
        self.find(node).is_some()
            && (rights.targets.iter().any(is_it) || self.covers_from_above(rights, node.index, write))
    }

    /// Returns true if a claim covers a node, which exists, with all below it.
    pub fn covers_all(&self, rights: &Rights, node: u32, write: bool) -> bool {
        let is_it = |target: &Target| target.node.index == node && !target.alone && target.allows(write);
        rights.targets.iter().any(|target| is_it(target) && self.find(target.node).is_some())
            || self.covers_from_above(rights, node, write)
    }

    #[inline]
    fn covers_from_above(&self, rights: &Rights, node: u32, write: bool) -> bool {
        if rights.targets.iter().all(|target| target.alone) {
            return false;
        }
        let mut next = node;
        loop {
            // Relaxed: the way to a target is pinned, and ordered before this by the claim.
            let Some(slot) = self.nodes.get(next) else { return false };
            next = slot.parent.load(Relaxed);
            if next == NONE {
                return false;
            }
            let is_above = |target: &Target| {
                target.node.index == next
                    && !target.alone
                    && target.allows(write)
                    && self.find(target.node).is_some()
            };
            if rights.targets.iter().any(is_above) {
                return true;
            }
        }
    }
}
