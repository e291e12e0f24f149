//! Splits of large clusters into gates with clusters below, and merges of small gates.

use super::change::Holder;
use super::mode::Mode;
use super::node::{IS_DUE, NONE, Node};
use super::table::{MOST_IN_CLUSTER, TreeTable};
use crate::sync::{Relaxed, Release};
use alloc::vec;
use alloc::vec::Vec;

impl Holder<'_> {
    /// Splits a cluster that has too many nodes. Each node with more than that below becomes a
    /// gate, and the other children of gates become clusters. The claim covers the whole cluster.
    pub fn split(&mut self, node: Node) {
        let table = self.table;
        let Some(slot) = table.find(node).filter(|_| table.covers_all(self.rights, node.index, true)) else {
            return;
        };
        // Relaxed, here and below: the claim pins the place of the node.
        let is_cluster = slot.gate.load(Relaxed) == NONE && slot.cluster.load(Relaxed) == node.index;
        if !is_cluster || slot.size.fetch_and(!IS_DUE, Relaxed) & !IS_DUE <= MOST_IN_CLUSTER {
            return;
        }
        // SAFETY: the claim covers the whole sub-tree.
        let nodes = unsafe { table.list(node.index) };
        let above = self.gate_above(node.index);
        table.gate(above).load.fetch_sub(nodes.len() as u32, Relaxed);
        let sizes = sizes(&nodes);
        self.lay_out(&nodes, above, |at| sizes[at] > MOST_IN_CLUSTER, &sizes);
    }

    /// Makes the way from the cluster of a node down to it gates, and their other children
    /// clusters. The claim covers the whole cluster.
    pub fn open(&mut self, node: u32) {
        let table = self.table;
        // Relaxed: the claim pins the place of the node.
        let cluster = table.slot(node).cluster.load(Relaxed);
        // SAFETY: the claim covers the whole cluster.
        let nodes = unsafe { table.list(cluster) };
        let above = self.gate_above(cluster);
        table.gate(above).load.fetch_sub(nodes.len() as u32, Relaxed);
        let mut on_way = vec![false; nodes.len()];
        let mut at = nodes.iter().position(|entry| entry.0 == node).expect("the node is in its cluster");
        on_way[at] = true;
        while at != 0 {
            at = nodes[at].1;
            on_way[at] = true;
        }
        self.lay_out(&nodes, above, |at| on_way[at], &sizes(&nodes));
    }

    /// Lays out a cluster anew: some nodes become gates, among them the parents of each; their
    /// other children become clusters.
    fn lay_out(
        &mut self,
        nodes: &[(u32, usize)],
        above: u32,
        is_gate: impl Fn(usize) -> bool,
        sizes: &[u32],
    ) {
        let table = self.table;
        let mut gates = vec![NONE; nodes.len()];
        let mut clusters = vec![NONE; nodes.len()];
        for (at, &(index, parent)) in nodes.iter().enumerate() {
            let slot = table.slot(index);
            let gate_above = if at == 0 { above } else { gates[parent] };
            if is_gate(at) {
                let gate = table.new_gate(index, gate_above, Some(self.claim));
                self.rights.explicit.push((gate, Mode::Write));
                gates[at] = gate;
                // Release, here and below, pairs with the Acquire of `path`: a claim that comes by
                // the gate finds the entry there.
                slot.gate.store(gate, Release);
            } else if gate_above != NONE {
                clusters[at] = index;
                slot.size.store(sizes[at], Relaxed);
                slot.above.store(gate_above, Release);
                slot.cluster.store(index, Release);
                table.gate(gate_above).load.fetch_add(sizes[at], Relaxed);
            } else {
                clusters[at] = clusters[parent];
                slot.cluster.store(clusters[at], Release);
            }
        }
    }

    /// Makes a gate with few nodes below a cluster again. The claim covers the whole sub-tree.
    pub fn merge(&mut self, node: Node) {
        let table = self.table;
        let Some(slot) = table.find(node).filter(|_| table.covers_all(self.rights, node.index, true)) else {
            return;
        };
        // Relaxed, here and below: the claim pins the place of the node.
        let gate = slot.gate.load(Relaxed);
        if gate == NONE || node == TreeTable::ROOT {
            return;
        }
        // SAFETY: the claim covers the whole sub-tree.
        let nodes = unsafe { table.list(node.index) };
        let has_gates = nodes[1..].iter().any(|entry| table.slot(entry.0).gate.load(Relaxed) != NONE);
        table.gate(gate).load.fetch_and(!IS_DUE, Relaxed);
        if has_gates || nodes.len() as u32 > MOST_IN_CLUSTER / 2 {
            return;
        }
        let above = table.gate(gate).above.load(Relaxed);
        self.enter_cluster(node.index, node);
        table.gate(above).load.fetch_add(nodes.len() as u32, Relaxed);
        slot.size.store(nodes.len() as u32, Relaxed);
        // Release, here and below, pairs with the Acquire of `path`: a claim that comes by the
        // cluster finds the entry there.
        slot.above.store(above, Release);
        for &(index, _) in &nodes {
            table.slot(index).cluster.store(node.index, Release);
        }
        slot.gate.store(NONE, Release);
        self.free_gate(gate);
        self.note_small(above);
    }
}

/// Returns the number of nodes below each of a list, itself included.
fn sizes(nodes: &[(u32, usize)]) -> Vec<u32> {
    let mut sizes = vec![1; nodes.len()];
    for at in (1..nodes.len()).rev() {
        sizes[nodes[at].1] += sizes[at];
    }
    sizes
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::super::queue::ClaimPtr;
    use super::super::rights::{Registration, Rights, Target};
    use super::*;
    use core::ptr::NonNull;

    #[test]
    fn a_split_is_asked_for_once() {
        with_root(|holder| {
            let cluster = holder.insert(TreeTable::ROOT, None, |_| ()).unwrap();
            let grow = |holder: &mut Holder<'_>, parent: Node, count: u32| {
                for _ in 0..count {
                    holder.insert(parent, None, |_| ()).unwrap();
                }
                core::mem::take(&mut holder.rights.changes().splits)
            };
            assert_eq!(grow(holder, cluster, MOST_IN_CLUSTER), [cluster]);
            assert_eq!(grow(holder, cluster, 2), []);
            holder.split(cluster);
            let below = holder.insert(cluster, None, |_| ()).unwrap();
            assert_eq!(grow(holder, below, MOST_IN_CLUSTER), [below]);
        });
    }

    #[test]
    fn a_gate_that_loses_its_last_gate_is_noted() {
        with_root(|holder| {
            let table = holder.table;
            let outer = holder.insert(TreeTable::ROOT, None, |_| ()).unwrap();
            let inner = holder.insert(outer, None, |_| ()).unwrap();
            for _ in 0..MOST_IN_CLUSTER {
                holder.insert(inner, None, |_| ()).unwrap();
            }
            holder.split(outer);
            assert!([outer, inner].iter().all(|node| table.slot(node.index).gate.load(Relaxed) != NONE));
            holder.rights.changes = None;
            holder.remove(inner).unwrap();
            assert_eq!(holder.rights.changes().merges, [outer]);
        });
    }

    /// Calls a function with a task that holds a tree of one node.
    fn with_root(run: impl FnOnce(&mut Holder<'_>)) {
        let (table, registration) = (TreeTable::new(1), Registration::new(false));
        let mut rights = Rights::new(false);
        rights.targets.push(Target { node: TreeTable::ROOT, alone: false, write: true });
        let claim = ClaimPtr(NonNull::from(&registration));
        run(&mut Holder::new(&table, claim, &mut rights, 1));
    }
}
