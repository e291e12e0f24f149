//! Making sense of nodes, whoever tells of them.

use super::{CpuSet, Gap, Node};
use std::collections::BTreeSet;

/// Takes a CPU from all nodes but the first that claims it, and gives the first node those that none claims.
pub(crate) fn each_cpu_once(nodes: &mut [Node], online: &CpuSet, gaps: &mut Vec<Gap>) {
    let mut gap = |about: String, why: String| gaps.push(Gap { about, why });
    let mut claimed = BTreeSet::new();
    for node in &mut *nodes {
        let (first, again): (Vec<_>, Vec<_>) = node.cpus.iter().partition(|&cpu| claimed.insert(cpu));
        if !again.is_empty() {
            let again: CpuSet = again.into_iter().collect();
            let about = format!("CPUs of node {}", node.id);
            gap(about, format!("another node claims CPUs {again} too, and is believed"));
            node.cpus = first.into_iter().collect();
        }
    }
    let homeless: CpuSet = online.iter().filter(|cpu| !claimed.contains(cpu)).collect();
    if let Some(first) = nodes.first_mut().filter(|_| !homeless.is_empty()) {
        let why = format!("none claims CPUs {homeless}: they are taken to be of node {}", first.id);
        gap("nodes".into(), why);
        first.cpus = first.cpus.iter().chain(homeless.iter()).collect();
    }
}

/// Does not believe distances by which a node is nearer to another than to itself.
pub(crate) fn distances(nodes: &mut [Node], gaps: &mut Vec<Gap>) {
    let own = |(index, node): (usize, &Node)| {
        node.distances.get(index).is_none_or(|&own| node.distances.iter().all(|&other| own <= other))
    };
    if !nodes.iter().enumerate().all(own) {
        let why = "a node is nearer to another than to itself: none is believed".into();
        gaps.push(Gap { about: "distances".into(), why });
        nodes.iter_mut().for_each(|node| node.distances.clear());
    }
}
