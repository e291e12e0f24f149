//! What a claim covers: its targets, and what is below those that are not alone.

use super::change::Holder;
use super::node::{NONE, Node, NodeSlot};
use super::rights::Rights;
use super::table::TreeTable;
use crate::sync::Acquire;
use core::cell::Cell;

/// Where the claim of a running task was last found to cover all nodes: to read them, and to write
/// them. Most nodes that a task asks for are in the cluster of the one before, or below the same
/// gate.
pub(crate) struct Covered {
    clusters: [Cell<u32>; 2],
    /// Gates whose nodes are targets with all below.
    gates: [Cell<u32>; 2],
    /// The last gates that were found to be these, or below them.
    nearest: [Cell<u32>; 2],
}

impl Default for Covered {
    #[inline(always)]
    fn default() -> Self {
        let none = || [const { Cell::new(NONE) }; 2];
        Self { clusters: none(), gates: none(), nearest: none() }
    }
}

impl Covered {
    /// Returns true if a node that exists is in the cluster.
    ///
    /// Another task may move a node elsewhere meanwhile. But no node comes into this cluster, or
    /// leaves it, unless by the task that asks: others would need to write there. Where that task
    /// moves the cluster, or makes gates there, it still covers all nodes.
    #[inline(always)]
    pub fn contain(&self, slot: &NodeSlot, write: bool) -> bool {
        // Acquire pairs with the Release of a merge: what was a gate has the new cluster then.
        slot.gate.load(Acquire) == NONE
            && slot.cluster.load(Acquire) == self.clusters[usize::from(write)].get()
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

    /// Returns true if a claim covers a node, which is here and no target. Notes where else it
    /// covers all.
    pub fn covers_noting(&self, rights: &Rights, slot: &NodeSlot, write: bool, covered: &Covered) -> bool {
        let Some(target) = self.covering(rights, slot, write) else { return false };
        // Acquire, here and below: as in `contain`.
        let (cluster, gate) = (slot.cluster.load(Acquire), target.gate.load(Acquire));
        if gate != NONE {
            let is_wrong = planted!("tree-gate-above-covers");
            let gate = if is_wrong { self.gate(gate).above.load(Acquire) } else { gate };
            covered.gates[usize::from(write)].set(gate);
            covered.nearest[usize::from(write)].set(gate);
        }
        let is_cluster_covered = gate != NONE || core::ptr::eq(target, self.slot(cluster));
        if is_cluster_covered && slot.gate.load(Acquire) == NONE {
            covered.clusters[usize::from(write)].set(cluster);
        }
        true
    }

    /// Returns true if a node, which exists, is the node of a gate that was found covered, or below
    /// it. Notes the cluster, and the first gate on the way.
    ///
    /// No other task brings a node there, or takes one away, as that would take writing there: what
    /// was read of the way holds, as in [`contain`](Covered::contain). So the way ends at a gate
    /// that was noted before.
    #[inline(always)]
    pub fn is_below_covered(&self, slot: &NodeSlot, write: bool, covered: &Covered) -> bool {
        let [covered_gate, nearest] =
            [&covered.gates, &covered.nearest].map(|gates| gates[usize::from(write)].get());
        if covered_gate == NONE {
            return false;
        }
        // Acquire, here and below, pairs with the Release of the change that published the place.
        let (gate, cluster) = (slot.gate.load(Acquire), slot.cluster.load(Acquire));
        let top = if gate == NONE { self.nodes.get(cluster) } else { None };
        let first = top.map_or(gate, |top| top.above.load(Acquire));
        let mut next = first;
        while next != nearest && next != covered_gate {
            let Some(gate) = self.gates.get(next) else { return false };
            next = gate.above.load(Acquire);
        }
        covered.nearest[usize::from(write)].set(first);
        if gate == NONE {
            covered.clusters[usize::from(write)].set(cluster);
        }
        true
    }

    /// Returns true if a claim covers a node, which exists, with all below it.
    pub fn covers_all(&self, rights: &Rights, node: u32, write: bool) -> bool {
        let slot = self.slot(node);
        rights.targets.allow(slot.present(node), write, true) || self.covers_from_above(rights, slot, write)
    }

    #[inline]
    fn covers_from_above(&self, rights: &Rights, slot: &NodeSlot, write: bool) -> bool {
        self.covering(rights, slot, write).is_some()
    }

    /// Returns the next node above one that is a target with all below.
    #[inline]
    fn covering(&self, rights: &Rights, slot: &NodeSlot, write: bool) -> Option<&NodeSlot> {
        if !rights.targets.has_all_below() {
            return None;
        }
        let mut next = slot.parent.load(Acquire);
        loop {
            // Acquire, here and above, pairs with the Release of `insert` and of a move: of a slot
            // that is used again this sees the new generation. (The way to a target is pinned.)
            let above = self.nodes.get(next)?;
            // (The target of a node that was removed covers nothing.)
            if rights.targets.allow(above.present(next), write, true) {
                return Some(above);
            }
            next = above.parent.load(Acquire);
        }
    }
}

impl Holder<'_> {
    /// Returns true if a claim covers a node that is here.
    #[inline(never)]
    pub fn covers(&self, node: Node, slot: &NodeSlot, write: bool) -> bool {
        self.table.is_below_covered(slot, write, &self.covered_before)
            || self.covers_elsewhere(node, slot, write)
    }

    /// Returns true if a claim covers a node that is here, below no gate that was noted. Most nodes
    /// are: so this is a function of its own, which saves registers.
    #[inline(never)]
    fn covers_elsewhere(&self, node: Node, slot: &NodeSlot, write: bool) -> bool {
        self.rights.names(node, write)
            || self.last == Some(node)
            || self.table.covers_noting(self.rights, slot, write, &self.covered_before)
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::super::error::TreeError;
    use super::super::queue::ClaimPtr;
    use super::super::rights::{Registration, Target};
    use super::super::table::MOST_IN_CLUSTER;
    use super::*;
    use core::ptr::NonNull;

    #[test]
    fn what_is_beside_a_covered_gate_is_not_covered() {
        let (table, registration) = (TreeTable::new(1), Registration::new(false));
        let claim = ClaimPtr(NonNull::from(&registration));
        let (mut all, mut part) = (Rights::new(false), Rights::new(false));
        all.targets.push(Target { node: TreeTable::ROOT, alone: false, write: true });
        let mut holder = Holder::new(&table, claim, &mut all, 1);
        let mut insert = |parent| holder.insert(parent, None, |_| ()).unwrap();
        let (gate, beside) = (insert(TreeTable::ROOT), insert(TreeTable::ROOT));
        let mut fill = |parent| [(); MOST_IN_CLUSTER as usize].map(|()| insert(parent));
        let (leaves, others) = (fill(gate), fill(beside));
        let (inner, innermost) = (leaves[0], fill(leaves[0]));
        for node in [gate, beside] {
            holder.split(node);
        }
        for node in [gate, beside, inner] {
            assert_ne!(table.slot(node.index).gate.load(Acquire), NONE);
        }

        part.targets.push(Target { node: gate, alone: false, write: false });
        let holder = Holder::new(&table, claim, &mut part, 2);
        for node in leaves.into_iter().chain([gate]).chain(innermost) {
            assert!(holder.covered(node, false).is_ok());
            assert_eq!(holder.covered(node, true).err(), Some(TreeError::NotClaimed(node)));
        }
        for node in others.into_iter().chain([beside, TreeTable::ROOT]) {
            assert_eq!(holder.covered(node, false).err(), Some(TreeError::NotClaimed(node)));
        }
    }

    #[test]
    fn a_removed_cluster_covers_no_node_that_gets_its_number() {
        let (table, registration) = (TreeTable::new(1), Registration::new(false));
        let claim = ClaimPtr(NonNull::from(&registration));
        let root = Target { node: TreeTable::ROOT, alone: true, write: true };
        let (mut own, mut others) = (Rights::new(false), Rights::new(false));
        own.targets.push(root);
        others.targets.push(root);
        let mut holder = Holder::new(&table, claim, &mut own, 1);
        let mut other = Holder::new(&table, claim, &mut others, 2);
        let cluster = holder.insert(root.node, None, |_| ()).unwrap();
        let below = holder.insert(cluster, None, |_| ()).unwrap();
        let leaf = holder.insert(root.node, None, |_| ()).unwrap();
        assert!(holder.covered(below, true).is_ok());
        let removed = holder.remove(cluster).unwrap();
        table.free_nodes(&removed[..1]);
        assert_eq!(holder.covered(below, true).err(), Some(TreeError::Missing(below)));
        let new = other.insert(root.node, None, |_| ()).unwrap();
        assert_eq!(new.index, cluster.index);
        assert_eq!(holder.covered(new, true).err(), Some(TreeError::NotClaimed(new)));
        assert!(holder.covered(leaf, true).is_ok());
    }
}
