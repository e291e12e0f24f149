//! What a claim covers: its targets, and what is below those that are not alone.

use super::node::{Node, NodeSlot};
use super::rights::{Rights, Target};
use super::table::TreeTable;
use crate::sync::{Acquire, Relaxed};

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
        self.find(node).is_some_and(|slot| {
            rights.targets.iter().any(is_it) || self.covers_from_above(rights, slot, write)
        })
    }

    /// Returns true if a claim covers a node, which exists, with all below it.
    pub fn covers_all(&self, rights: &Rights, node: u32, write: bool) -> bool {
        let is_it = |target: &Target| target.node.index == node && !target.alone && target.allows(write);
        rights.targets.iter().any(|target| is_it(target) && self.find(target.node).is_some())
            || self.covers_from_above(rights, self.slot(node), write)
    }

    #[inline]
    fn covers_from_above(&self, rights: &Rights, slot: &NodeSlot, write: bool) -> bool {
        if rights.targets.iter().all(|target| target.alone) {
            return false;
        }
        let mut slot = slot;
        loop {
            // Acquire pairs with the Release of `insert` and of a move: of a slot that is used
            // again this sees the new generation. (The way to a target is pinned.)
            let parent = slot.parent.load(Acquire);
            let Some(above) = self.nodes.get(parent) else { return false };
            let is_above = |target: &Target| {
                target.node.index == parent
                    && !target.alone
                    && target.allows(write)
                    // Relaxed: ordered by the load above. The target of a node that was
                    // removed covers nothing.
                    && target.node.generation == above.generation.load(Relaxed)
            };
            if rights.targets.iter().any(is_above) {
                return true;
            }
            slot = above;
        }
    }
}
