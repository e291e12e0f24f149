//! What a claim covers: its targets, and what is below those that are not alone.

use super::node::{NONE, Node, NodeSlot};
use super::rights::Rights;
use super::table::TreeTable;
use crate::sync::Acquire;
use core::cell::Cell;

/// The home of which the claim of a running task was last found to cover all nodes: to read them,
/// and to write them. Most nodes that a task asks for are in the home of the one before.
pub(crate) struct CoveredHomes([Cell<u32>; 2]);

impl Default for CoveredHomes {
    fn default() -> Self {
        Self([NONE, NONE].map(Cell::new))
    }
}

impl CoveredHomes {
    /// Returns true if a node that exists is in the home.
    ///
    /// Another task may move a node elsewhere meanwhile. But no node comes into this home, or
    /// leaves it, unless by the task that asks: others would need to write there. Where that task
    /// moves the home, or makes gates there, it still covers all nodes.
    #[inline(always)]
    pub fn contain(&self, slot: &NodeSlot, write: bool) -> bool {
        // Acquire pairs with the Release of a merge: what was a gate has the new home then.
        slot.gate.load(Acquire) == NONE && slot.home.load(Acquire) == self.0[usize::from(write)].get()
    }

    fn set(&self, home: u32, write: bool) {
        self.0[usize::from(write)].set(home);
    }
}

impl Rights {
    /// Returns true if a node, which exists, is a target.
    #[inline(always)]
    pub fn names(&self, node: Node, write: bool) -> bool {
        self.targets.allow(node, write, false)
    }
}

impl TreeTable {
    /// Returns true if a claim covers a node, to read it or to write it.
    ///
    /// The claim pins the way from the node to the target that covers it. If there is none, the way
    /// may change while it is climbed, but it cannot lead to a target: a node comes below one only
    /// by a task that writes there.
    pub fn covers(&self, rights: &Rights, node: Node, write: bool) -> bool {
        self.find(node)
            .is_some_and(|slot| rights.names(node, write) || self.covers_from_above(rights, slot, write))
    }

    /// Returns true if a claim covers a node, which is here and no target. Notes the home if it
    /// covers that.
    pub fn covers_noting(&self, rights: &Rights, slot: &NodeSlot, write: bool, homes: &CoveredHomes) -> bool {
        if !rights.targets.has_all_below() {
            return false;
        }
        // Acquire, here and below: as in `contain`.
        if slot.gate.load(Acquire) == NONE {
            let home = slot.home.load(Acquire);
            if self.covers_all(rights, home, write) {
                homes.set(home, write);
                return true;
            }
        }
        self.covers_from_above(rights, slot, write)
    }

    /// Returns true if a claim covers a node, which exists, with all below it.
    pub fn covers_all(&self, rights: &Rights, node: u32, write: bool) -> bool {
        let slot = self.slot(node);
        rights.targets.allow(slot.present(node), write, true) || self.covers_from_above(rights, slot, write)
    }

    #[inline]
    fn covers_from_above(&self, rights: &Rights, slot: &NodeSlot, write: bool) -> bool {
        if !rights.targets.has_all_below() {
            return false;
        }
        let mut slot = slot;
        loop {
            // Acquire pairs with the Release of `insert` and of a move: of a slot that is used
            // again this sees the new generation. (The way to a target is pinned.)
            let parent = slot.parent.load(Acquire);
            let Some(above) = self.nodes.get(parent) else { return false };
            // (The target of a node that was removed covers nothing.)
            if rights.targets.allow(above.present(parent), write, true) {
                return true;
            }
            slot = above;
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::super::change::Holder;
    use super::super::error::TreeError;
    use super::super::queue::ClaimPtr;
    use super::super::rights::{Registration, Target};
    use super::*;
    use core::ptr::NonNull;

    #[test]
    fn a_removed_home_covers_no_node_that_gets_its_number() {
        let (table, registration) = (TreeTable::new(1), Registration::default());
        let claim = ClaimPtr(NonNull::from(&registration));
        let root = Target { node: TreeTable::ROOT, alone: true, write: true };
        let (mut own, mut others) = (Rights::default(), Rights::default());
        own.targets.push(root);
        others.targets.push(root);
        let mut holder = Holder::new(&table, claim, &mut own, 1);
        let mut other = Holder::new(&table, claim, &mut others, 2);
        let home = holder.insert(root.node, None, |_| ()).unwrap();
        let below = holder.insert(home, None, |_| ()).unwrap();
        let leaf = holder.insert(root.node, None, |_| ()).unwrap();
        assert!(holder.covered(below, true).is_ok());
        let removed = holder.remove(home).unwrap();
        table.free_nodes(&removed[..1]);
        assert_eq!(holder.covered(below, true).err(), Some(TreeError::Missing(below)));
        let new = other.insert(root.node, None, |_| ()).unwrap();
        assert_eq!(new.index, home.index);
        assert_eq!(holder.covered(new, true).err(), Some(TreeError::NotClaimed(new)));
        assert!(holder.covered(leaf, true).is_ok());
    }
}
