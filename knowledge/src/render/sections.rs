//! The lists beside a drawing: limits, distances, pressure, registrations and gaps.

use super::{count, named};
use crate::Bytes;
use crate::facts::{CpuSet, Facts, Stall, Stalls};

/// A heading with lines below it. Sections without content are left out.
pub struct Section {
    /// The heading.
    pub heading: &'static str,
    /// Pairs of a name and a text.
    pub lines: Vec<(String, String)>,
}

/// Summarises the machine in a line or two.
pub fn summary(facts: &Facts) -> Vec<String> {
    let different = |of: fn(&crate::facts::Cpu) -> u32| facts.cpus.iter().map(of).collect::<CpuSet>().len();
    let mut size = format!(
        "{} · {} · {} · {}",
        count(facts.cpus.len(), "CPU", "CPUs"),
        count(different(|cpu| cpu.core), "core", "cores"),
        count(different(|cpu| cpu.package), "package", "packages"),
        count(facts.nodes.len(), "node", "nodes"),
    );
    if let Some(memory) = facts.memory {
        size += &format!(" · {} of memory", Bytes(memory));
    }
    facts.model.iter().cloned().chain([size]).collect()
}

/// Returns all sections with content.
pub fn sections(facts: &Facts) -> Vec<Section> {
    let all = [
        ("limits of this process", limits(facts)),
        ("memory without CPUs", lone_memory(facts)),
        ("distances between nodes", distances(facts)),
        ("pressure: share of the last 10, 60, 300 s spent waiting", pressure(facts)),
        ("registered by runtimes of this process", registered(facts)),
        ("unknown or contradictory", gaps(facts)),
    ];
    let sections = all.into_iter().map(|(heading, lines)| Section { heading, lines });
    sections.filter(|section| !section.lines.is_empty()).collect()
}

fn limits(facts: &Facts) -> Vec<(String, String)> {
    let limits = &facts.limits;
    let mut lines = Vec::new();
    let mut add = |name: &str, text: String| lines.push((name.to_string(), text));
    if let Some(cpus) = &limits.affinity {
        add("affinity mask", named(cpus));
    }
    if let Some(cpus) = &limits.group {
        add("control group", named(cpus));
    }
    if let Some(nodes) = &limits.nodes {
        add("control group", format!("memory of nodes {nodes}"));
    }
    if let Some(quota) = &limits.quota {
        let worth = if quota.cpus == 1.0 { "CPU" } else { "CPUs" };
        add("quota", format!("{} {worth} ({})", quota.cpus, quota.source));
    }
    if let Some(memory) = limits.memory {
        add("memory", Bytes(memory).to_string());
    }
    let allowed = facts.allowed();
    if allowed.len() < facts.cpus.len() {
        let ids = facts.cpus.iter().map(|cpu| cpu.id);
        let forbidden: CpuSet = ids.filter(|&cpu| !allowed.contains(cpu)).collect();
        add("allowed", format!("{}; forbidden: {}", named(&allowed), named(&forbidden)));
    }
    lines
}

fn lone_memory(facts: &Facts) -> Vec<(String, String)> {
    let lone = facts.nodes.iter().filter(|node| node.cpus.is_empty());
    lone.map(|node| (super::part_tree::node_name(node), String::new())).collect()
}

fn distances(facts: &Facts) -> Vec<(String, String)> {
    let known = facts.nodes.iter().filter(|node| facts.nodes.len() > 1 && !node.distances.is_empty());
    let line = |node: &crate::facts::Node| {
        let far: Vec<_> = node.distances.iter().map(|distance| format!("{distance:>4}")).collect();
        (format!("from node {}", node.id), far.concat())
    };
    known.map(line).collect()
}

fn pressure(facts: &Facts) -> Vec<(String, String)> {
    let pressure = &facts.pressure;
    let waits =
        [("for a CPU", &pressure.cpu), ("for memory", &pressure.memory), ("for input, output", &pressure.io)];
    let shares = |stall: &Stall| format!("{:.1} %, {:.1} %, {:.1} %", stall.avg10, stall.avg60, stall.avg300);
    let line = |stalls: &Stalls| {
        let full = stalls.full.as_ref().map(|full| format!("; all tasks {}", shares(full)));
        format!("some task {}{}", shares(&stalls.some), full.unwrap_or_default())
    };
    let known =
        waits.into_iter().filter_map(|(name, stalls)| Some((name.to_string(), line(stalls.as_ref()?))));
    known.collect()
}

fn registered(facts: &Facts) -> Vec<(String, String)> {
    let line = |registration: &crate::facts::Registration| {
        let cpus: CpuSet = registration.cpus.iter().copied().collect();
        let workers = count(registration.cpus.len(), "worker", "workers");
        let memory =
            registration.memory.iter().map(|(node, size)| format!(", {} on node {node}", Bytes(*size)));
        let memory: String = memory.collect();
        (registration.name.clone(), format!("{workers} on {}{memory}", named(&cpus)))
    };
    facts.registered.iter().map(line).collect()
}

fn gaps(facts: &Facts) -> Vec<(String, String)> {
    facts.gaps.iter().map(|gap| (gap.about.clone(), gap.why.clone())).collect()
}
