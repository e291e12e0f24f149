//! Changes of the tree by a task that holds what it changes.
//!
//! A change publishes new places of nodes: their clusters, and the gates above. Other claims that
//! come by a new place must find the claim of the task there. So the task enters each new place
//! *before* it publishes it, and leaves it at its end as all others.

use super::covers::Covered;
use super::error::TreeError;
use super::link_data::LinkValue;
use super::mode::{Mode, Modes};
use super::node::{IS_DUE, NONE, Node, NodeSlot};
use super::queue::{ClaimPtr, ClusterEntry, GateEntry};
use super::rights::{Exact, Rights, Target};
use super::table::{MOST_IN_CLUSTER, TreeTable};
use crate::sync::{Acquire, Relaxed, Release};
use crate::task::drop_quietly;
use alloc::vec::Vec;

/// The claim of a task that runs.
pub(crate) struct Holder<'h> {
    pub table: &'h TreeTable,
    pub claim: ClaimPtr,
    pub rights: &'h mut Rights,
    /// Marks the nodes that the task has written.
    pub stamp: u64,
    /// The node that was inserted last. The claim covers it, and all below.
    pub last: Option<Node>,
    pub covered_before: Covered,
}

impl<'h> Holder<'h> {
    #[inline]
    pub fn new(table: &'h TreeTable, claim: ClaimPtr, rights: &'h mut Rights, stamp: u64) -> Self {
        Self { table, claim, rights, stamp, last: None, covered_before: Covered::default() }
    }

    /// Returns the slot of a node that the claim covers.
    ///
    /// # Errors
    ///
    /// If the node does not exist, or the claim does not cover it.
    #[inline(always)]
    pub fn covered(&self, node: Node, write: bool) -> Result<&'h NodeSlot, TreeError> {
        let slot = self.table.find(node).ok_or(TreeError::Missing(node))?;
        let is_covered = self.covered_before.contain(slot, write)
            || self.rights.targets.first_allows(node, write)
            || self.covers(node, slot, write);
        if is_covered { Ok(slot) } else { Err(TreeError::NotClaimed(node)) }
    }

    /// Returns the slot of a node that the claim covers to write it, which counts as written.
    ///
    /// # Errors
    ///
    /// As for [`covered`](Self::covered).
    #[inline(always)]
    pub fn written(&self, node: Node) -> Result<&'h NodeSlot, TreeError> {
        let slot = self.covered(node, true)?;
        // Relaxed: only this task reads it before it leaves.
        slot.writer.store(self.stamp, Relaxed);
        Ok(slot)
    }

    /// Returns the parent of a node that the claim covers; `None` for the root.
    pub fn parent(&self, slot: &NodeSlot) -> Option<Node> {
        // Relaxed: the claim pins it.
        let parent = slot.parent.load(Relaxed);
        self.table.nodes.get(parent).map(|above| above.node(parent))
    }

    /// Adds a leaf as a child of a node, at an index or behind all others. `fill` stores its data.
    ///
    /// # Errors
    ///
    /// If the claim does not cover the node to write it, or the index is behind all children.
    pub fn insert(
        &mut self,
        parent: Node,
        at: Option<usize>,
        fill: impl FnOnce(u32),
    ) -> Result<Node, TreeError> {
        let above = self.written(parent)?;
        // SAFETY: the claim covers the parent to write it, and nothing else is borrowed of it.
        let siblings = unsafe { above.children_mut() };
        let at = at.unwrap_or(siblings.len());
        if at > siblings.len() {
            return Err(TreeError::NoSuchPlace(parent, at));
        }
        let (index, slot) = self.table.new_node();
        // Relaxed, here and below: published by the generation.
        let node = Node { index, generation: slot.generation.load(Relaxed) + 1 };
        // Release, here and for the cluster, pairs with the Acquire of `path`, `is_under` and
        // `covers_from_above`: a claim that has come by the node that was here before, and reads
        // the new place, sees that its node has gone.
        slot.parent.store(parent.index, Release);
        slot.gate.store(NONE, Release);
        slot.is_poisoned.store(false, Relaxed);
        slot.has_relatives.store(false, Relaxed);
        slot.writer.store(self.stamp, Relaxed);
        let cluster = self.join_cluster(node, above, 1);
        slot.cluster.store(cluster, Release);
        if self.last != Some(parent) && !self.table.covers_all(self.rights, parent.index, true) {
            self.enter_cluster(cluster, node);
            self.rights.targets.push(Target { node, alone: false, write: true });
        }
        fill(index);
        // Release pairs with the Acquire of `find`.
        slot.generation.store(node.generation, Release);
        siblings.insert(at, node);
        self.open_link_place(parent.index, at);
        self.last = Some(node);
        Ok(node)
    }

    /// Removes a node and all below it. Returns them, each after its parent.
    ///
    /// # Errors
    ///
    /// If the node is the root; if the claim does not cover its sub-tree, its parent, and the ends
    /// of links that lead out, to write; or if a node there has another parent elsewhere.
    pub fn remove(&mut self, node: Node) -> Result<Vec<u32>, TreeError> {
        let (slot, parent) = self.movable(node)?;
        // SAFETY: the claim covers the whole sub-tree.
        let nodes: Vec<u32> =
            unsafe { self.table.list(node.index) }.into_iter().map(|entry| entry.0).collect();
        if self.table.has_links() {
            self.check_removal(node, &nodes)?;
        }
        if !planted!("tree-covered-cluster-outlives-it") {
            // Another task may insert a node whose cluster has the number of a removed one.
            self.covered_before = Covered::default();
        }
        drop_quietly(self.take_out(node, parent, None));
        self.leave_place(node, slot);
        if self.table.has_links() {
            self.move_links(slot, Some(parent), None);
            self.remove_links(node, &nodes);
        }
        self.table.clear_removed_poison(&nodes);
        for &index in &nodes {
            let slot = self.table.slot(index);
            let gate = slot.gate.load(Relaxed);
            if planted!("tree-removed-gate-is-a-cluster") {
                slot.gate.store(NONE, Relaxed);
            }
            // Release pairs with the Acquire of `find`: a claim that registers sees that the node
            // has gone. Its place stays as it was until `insert` uses the slot again. Otherwise a
            // claim could take a gate for a cluster where this one has no entry, and find that
            // valid.
            slot.generation.store(slot.generation.load(Relaxed) + 1, Release);
            if gate != NONE {
                self.rights.changes().freed_gates.push(gate);
            }
            // SAFETY: as above, to write.
            unsafe { slot.children_mut() }.clear();
            self.clear_link_values(index);
        }
        let table = self.table;
        self.rights.targets.retain(|target| table.find(target.node).is_some());
        Ok(nodes)
    }

    /// Moves a node with all below it to another parent, at an index or behind its children.
    ///
    /// # Errors
    ///
    /// If the node is the root or the new parent is below it, perhaps by links; if the claim does
    /// not cover the sub-tree and both parents to write, or the cluster of the new parent where
    /// that has to become a gate; or if the index is behind all children.
    pub fn relocate(&mut self, node: Node, to: Node, at: Option<usize>) -> Result<(), TreeError> {
        let (slot, from) = self.movable(node)?;
        let above = self.written(to)?;
        self.check_descendants(node, to)?;
        self.check_place(slot, above)?;
        // SAFETY: the claim covers the node to read it.
        let count = unsafe { above.children() }.len() - usize::from(from == to);
        let at = at.unwrap_or(count);
        if at > count {
            return Err(TreeError::NoSuchPlace(to, at));
        }
        let value = self.take_out(node, from, None);
        self.transfer(node, from, to);
        // SAFETY: the claim covers the new parent to write it, and nothing is borrowed of it.
        unsafe { above.children_mut() }.insert(at, node);
        self.open_link_place(to.index, at);
        value.map_or(Ok(()), |value| self.set_link_value(to, at, value))
    }

    /// Checks that the claim covers what becomes gates if a node comes below this parent.
    pub fn check_place(&self, slot: &NodeSlot, parent: &NodeSlot) -> Result<(), TreeError> {
        // Relaxed, here and below: the claim pins the places of both nodes.
        if slot.gate.load(Relaxed) == NONE || parent.gate.load(Relaxed) != NONE {
            return Ok(());
        }
        let cluster = parent.cluster.load(Relaxed);
        if self.table.covers_all(self.rights, cluster, true) {
            Ok(())
        } else {
            Err(TreeError::NotClaimed(self.table.slot(cluster).node(cluster)))
        }
    }

    /// Moves a node with all below it from one parent to another, but for the lists of children.
    pub fn transfer(&mut self, node: Node, from: Node, to: Node) {
        let (slot, above) = (self.table.slot(node.index), self.table.slot(to.index));
        self.leave_place(node, slot);
        self.move_links(slot, Some(from), Some(to));
        // Relaxed: the claim pins the place of the node.
        match slot.gate.load(Relaxed) {
            NONE => self.move_in_cluster(node, slot, above, to),
            gate => self.move_gate(gate, slot, above, to),
        }
        if !self.table.covers_all(self.rights, node.index, true) {
            self.rights.targets.push(Target { node, alone: false, write: true });
        }
    }

    /// Counts the links that begin in a sub-tree out above one parent, and in above another.
    fn move_links(&self, slot: &NodeSlot, from: Option<Node>, to: Option<Node>) {
        // Relaxed: the claim covers the whole sub-tree.
        let links = slot.links.load(Relaxed).cast_signed();
        if links != 0 && !planted!("tree-moved-links-uncounted") {
            from.inspect(|from| self.table.count_links(from.index, -links));
            to.inspect(|to| self.table.count_links(to.index, links));
        }
    }

    /// Returns the slot and the parent of a node that may be removed or moved. Both count as
    /// written.
    fn movable(&self, node: Node) -> Result<(&'h NodeSlot, Node), TreeError> {
        let slot = self.written(node)?;
        let parent = self.parent(slot).ok_or(TreeError::Root)?;
        if !self.table.covers_all(self.rights, node.index, true) {
            return Err(TreeError::NotClaimed(node));
        }
        self.written(parent)?;
        Ok((slot, parent))
    }

    /// Takes a node out of a list of children, once: at this index, where it is, or the last time
    /// that it occurs. Returns the data of the link.
    #[must_use = "the destructor of the data may panic"]
    pub fn take_out(&self, node: Node, parent: Node, at: Option<usize>) -> Option<LinkValue> {
        // SAFETY: the claim covers the parent to write it, and nothing is borrowed of it.
        let siblings = unsafe { self.table.slot(parent.index).children_mut() };
        let at = at.or_else(|| siblings.iter().rposition(|child| *child == node));
        let at = at.expect("a node is a child of its parent");
        debug_assert_eq!(siblings[at], node, "the place is that of the node");
        siblings.remove(at);
        self.close_link_place(parent.index, at)
    }

    /// Counts nodes in the cluster that a node below this parent has. Returns the cluster.
    fn join_cluster(&mut self, node: Node, parent: &NodeSlot, count: u32) -> u32 {
        let table = self.table;
        // Relaxed, here and below: the claim pins the place of the parent.
        let gate = parent.gate.load(Relaxed);
        if gate != NONE {
            let slot = table.slot(node.index);
            slot.size.store(count, Relaxed);
            // Release pairs with the Acquire of `path`.
            slot.above.store(gate, Release);
            table.gate(gate).load.fetch_add(count, Relaxed);
            return node.index;
        }
        let cluster = parent.cluster.load(Relaxed);
        let top = table.slot(cluster);
        let size = top.size.fetch_add(count, Relaxed) + count;
        table.gate(top.above.load(Relaxed)).load.fetch_add(count, Relaxed);
        // One task asks for a split, and not all that insert until it comes.
        if size & IS_DUE == 0 && size > MOST_IN_CLUSTER && top.size.fetch_or(IS_DUE, Relaxed) & IS_DUE == 0 {
            self.rights.changes().splits.push(top.node(cluster));
        }
        cluster
    }

    /// Takes a node and all below it out of the counts of its cluster, or of the gate above.
    fn leave_place(&mut self, node: Node, slot: &NodeSlot) {
        let table = self.table;
        // Relaxed, here and below: the claim pins the place of the node.
        let gate = slot.gate.load(Relaxed);
        if gate != NONE {
            let above = table.gate(gate).above.load(Relaxed);
            if !planted!("tree-gate-left-uncounted") {
                table.gate(above).gates.fetch_sub(1, Relaxed);
            }
            return self.note_small(above);
        }
        let cluster = slot.cluster.load(Relaxed);
        let top = table.slot(cluster);
        // SAFETY: the claim covers the whole sub-tree.
        let count = unsafe { table.list(node.index) }.len() as u32;
        if cluster != node.index {
            top.size.fetch_sub(count, Relaxed);
        }
        let above = top.above.load(Relaxed);
        table.gate(above).load.fetch_sub(count, Relaxed);
        self.note_small(above);
    }

    /// Notes a gate that may have so few nodes below that it need not be one.
    pub fn note_small(&mut self, number: u32) {
        let gate = self.table.gate(number);
        // Relaxed, here and below: hints, which the merge checks. (The bit of a gate that will be
        // merged makes its number large.)
        let is_small = gate.load.load(Relaxed) < MOST_IN_CLUSTER / 4 && gate.gates.load(Relaxed) == 0;
        let index = gate.node.load(Relaxed);
        if is_small && index != TreeTable::ROOT.index && gate.load.fetch_or(IS_DUE, Relaxed) & IS_DUE == 0 {
            let small = self.table.slot(index).node(index);
            self.rights.changes().merges.push(small);
        }
    }

    /// Notes that a gate is none any more. Its record is free once the task has left it.
    pub fn free_gate(&mut self, number: u32) {
        // Relaxed: the claim pins it.
        let above = self.table.gate(number).above.load(Relaxed);
        self.table.gate(above).gates.fetch_sub(1, Relaxed);
        self.rights.changes().freed_gates.push(number);
    }

    /// Moves a sub-tree without gates.
    fn move_in_cluster(&mut self, node: Node, slot: &NodeSlot, parent: &NodeSlot, to: Node) {
        let table = self.table;
        // SAFETY: the claim covers the whole sub-tree.
        let nodes = unsafe { table.list(node.index) };
        let old = slot.cluster.load(Relaxed);
        let new = if parent.gate.load(Relaxed) == NONE { parent.cluster.load(Relaxed) } else { node.index };
        if !planted!("tree-published-before-entered") {
            // Its own entry in the old cluster as well: there claims look for one above their node.
            self.enter_cluster(old, node);
            self.enter_cluster(new, node);
        }
        // Release, here and below, pairs with the Acquire of `path` and `is_under`: a claim that
        // comes by the new place finds the entries.
        slot.parent.store(to.index, Release);
        let cluster = self.join_cluster(node, parent, nodes.len() as u32);
        for (index, _) in nodes {
            table.slot(index).cluster.store(cluster, Release);
        }
    }

    /// Moves a sub-tree with gates, whose topmost is this one. The path above becomes gates.
    fn move_gate(&mut self, gate: u32, slot: &NodeSlot, parent: &NodeSlot, to: Node) {
        self.enter_gate(gate);
        if parent.gate.load(Relaxed) == NONE {
            self.open(to.index);
        }
        slot.parent.store(to.index, Release);
        let (record, above) = (self.table.gate(gate), parent.gate.load(Relaxed));
        // Relaxed: a hint.
        self.table.gate(above).gates.fetch_add(1, Relaxed);
        // Release, here and below, pairs with the Acquire of `pass_gates` and `resolve`: a claim
        // that has counted on the old way sees that it was left, even if the gate comes back.
        record.moves.fetch_add(1, Release);
        // Release pairs with the Acquire of a claim that climbs: it finds the entry at the gate.
        record.above.store(above, Release);
        record.moves.fetch_add(1, Release);
    }

    /// Enters a cluster with a node and all below it. Other claims with entries there that clash
    /// have come by a place that the node had once, and are displaced.
    pub fn enter_cluster(&mut self, cluster: u32, node: Node) {
        let exact = Exact { cluster, target: Target { node, alone: false, write: true } };
        let entry = ClusterEntry { claim: self.claim, exact };
        let (table, claim) = (self.table, self.claim);
        table.stripe(cluster).lock().hold_displacing(entry, |other| {
            if other.claim != claim && other.exact.cluster == cluster && table.clash(&other.exact, &exact) {
                // SAFETY: the registration lives as long as it has an entry, and the stripe is
                // locked.
                let registration = unsafe { other.claim.0.as_ref() };
                // Release pairs with the Acquire of a claim that validates its entries.
                registration.is_displaced.store(!planted!("tree-displacement-unmarked"), Release);
            }
        });
        self.rights.exact.push(exact);
    }

    /// Enters the queue of a gate, to write all below it.
    pub fn enter_gate(&mut self, gate: u32) {
        if self.rights.explicit_at(gate) == Some(Mode::Write) {
            return;
        }
        let record = self.table.gate(gate);
        let mut queue = record.queue.lock();
        // Relaxed: a claim that has counted here is one that this one excludes anyway, or one that
        // waits and has come by another way. That registers anew, as the gate has moved since.
        record.flag.store(true, Relaxed);
        queue.hold(GateEntry { claim: self.claim, modes: Modes::only(Mode::Write) });
        self.rights.explicit.push((gate, Mode::Write));
    }

    /// Returns the gate above a node's cluster.
    pub fn gate_above(&self, cluster: u32) -> u32 {
        // Acquire pairs with the Release of the change that published it.
        self.table.slot(cluster).above.load(Acquire)
    }
}
