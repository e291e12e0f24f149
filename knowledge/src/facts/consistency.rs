//! Repairs contradictory facts about NUMA nodes, from any source.

use super::{CpuSet, Gap, Node};
use std::collections::BTreeSet;

/// No machine has more nodes. Their distances are a square of this.
pub(crate) const NODES_MAX: usize = 1 << 10;
/// No core has more threads. Each of them is a sibling of each other.
pub(crate) const CORE_THREADS_MAX: usize = 1 << 8;

/// Assigns each CPU to the first node that claims it, and unclaimed CPUs to the first node.
pub(crate) fn each_cpu_once(nodes: &mut [Node], online: &CpuSet, gaps: &mut Vec<Gap>) {
    let mut gap = |about: String, why: String| gaps.push(Gap { about, why });
    let mut claimed = BTreeSet::new();
    for node in &mut *nodes {
        let (first, again): (Vec<_>, Vec<_>) = node.cpus.iter().partition(|&cpu| claimed.insert(cpu));
        if !again.is_empty() {
            let again: CpuSet = again.into_iter().collect();
            let about = format!("CPUs of node {}", node.id);
            gap(about, format!("a previous node has CPUs {again}, too, and keeps them"));
            node.cpus = first.into_iter().collect();
        }
    }
    let homeless: CpuSet = online.iter().filter(|cpu| !claimed.contains(cpu)).collect();
    if let Some(first) = nodes.first_mut().filter(|_| !homeless.is_empty()) {
        let why = format!("no node has CPUs {homeless}; node {} gets them", first.id);
        gap("nodes".into(), why);
        first.cpus = first.cpus.iter().chain(homeless.iter()).collect();
    }
}

/// Drops all distances if a node is nearer to another node than to itself.
pub(crate) fn drop_invalid_distances(nodes: &mut [Node], gaps: &mut Vec<Gap>) {
    let own = |(index, node): (usize, &Node)| {
        node.distances.get(index).is_none_or(|&own| node.distances.iter().all(|&other| own <= other))
    };
    if !nodes.iter().enumerate().all(own) {
        let why = "a node is nearer to another than to itself; all distances are ignored".into();
        gaps.push(Gap { about: "distances".into(), why });
        nodes.iter_mut().for_each(|node| node.distances.clear());
    }
}
