//! NUMA nodes and their memory.

use super::survey::Survey;
use crate::facts::{CpuSet, Node, consistency};

const NODES: &str = "/sys/devices/system/node";

/// Sizes in bytes, if known.
#[derive(Clone, Copy, Default)]
pub(super) struct MemorySize {
    pub(super) total: Option<u64>,
    pub(super) free: Option<u64>,
}

/// Reads the memory of the machine.
pub(super) fn memory(survey: &mut Survey<'_>) -> MemorySize {
    let path = "/proc/meminfo";
    match survey.required("memory", path) {
        Some(text) => table(survey, "memory", path, &text),
        None => MemorySize::default(),
    }
}

/// Reads the nodes: at least one, and each CPU in one of them.
pub(super) fn nodes(survey: &mut Survey<'_>, online: &CpuSet, machine: MemorySize) -> Vec<Node> {
    let numbers = survey.root.numbered_entries(NODES, "node");
    if numbers.is_empty() {
        survey.gap("nodes", format!("`{NODES}` has none; all CPUs and all memory count as one node"));
        return vec![one_node(online, machine)];
    }
    let count = numbers.len();
    if count > consistency::NODES_MAX {
        survey.gap("nodes", format!("`{NODES}` has {count}; all CPUs and all memory count as one node"));
        return vec![one_node(online, machine)];
    }
    let mut nodes: Vec<_> = numbers.into_iter().map(|id| node(survey, online, id, count)).collect();
    consistency::drop_invalid_distances(&mut nodes, &mut survey.gaps);
    consistency::each_cpu_once(&mut nodes, online, &mut survey.gaps);
    cross_check(survey, &mut nodes, machine);
    nodes
}

/// Returns a node of all CPUs and all memory.
fn one_node(online: &CpuSet, machine: MemorySize) -> Node {
    let MemorySize { total, free } = machine;
    Node { id: 0, cpus: online.clone(), memory: total, free, distances: Vec::new() }
}

/// Reads one of `count` nodes.
fn node(survey: &mut Survey<'_>, online: &CpuSet, id: u32, count: usize) -> Node {
    let folder = format!("{NODES}/node{id}");
    let path = format!("{folder}/cpulist");
    let about = format!("CPUs of node {id}");
    let list = survey.required(&about, &path);
    let list = list.and_then(|list| {
        survey.parse_or_gap(&about, &path, "list of CPUs", &list, |text| text.parse::<CpuSet>().ok())
    });
    let path = format!("{folder}/meminfo");
    let about = format!("memory of node {id}");
    let memory = match survey.required(&about, &path) {
        Some(text) => table(survey, &about, &path, &text),
        None => MemorySize::default(),
    };
    let path = format!("{folder}/distance");
    let about = format!("distances of node {id}");
    let distances = survey.required(&about, &path).and_then(|text| {
        let what = format!("list of {count} distances");
        survey.parse_or_gap(&about, &path, &what, &text, |text| {
            let distances = text.split_whitespace().map(|distance| distance.parse().ok());
            distances.collect::<Option<Vec<u32>>>().filter(|distances| distances.len() == count)
        })
    });
    Node {
        id,
        // Some kernels list a node's offline CPUs as well.
        cpus: list.unwrap_or_default().and(online),
        memory: memory.total,
        free: memory.free,
        distances: distances.unwrap_or_default(),
    }
}

/// Drops the memory of the nodes if it adds up to much less than that of the machine.
///
/// The kernel gives memory to the nodes step by step after boot; meanwhile a node reports what it
/// has so far.
fn cross_check(survey: &mut Survey<'_>, nodes: &mut [Node], machine: MemorySize) {
    let sum = nodes.iter().map(|node| node.memory).try_fold(0_u64, |sum, memory| sum.checked_add(memory?));
    let (Some(sum), Some(total)) = (sum, machine.total) else { return };
    let contradiction = format!("the nodes have {sum} bytes, `/proc/meminfo` has {total}");
    // Some memory is reserved in only one of the two; that is far less than a quarter.
    if sum / 3 < total / 4 {
        if let [node] = nodes {
            survey.gap(
                "memory of nodes",
                format!("{contradiction}; the latter counts, because there is one node"),
            );
            (node.memory, node.free) = (machine.total, machine.free);
        } else {
            survey.gap("memory of nodes", format!("{contradiction}; the memory of the nodes is unknown"));
            for node in nodes {
                (node.memory, node.free) = (None, None);
            }
        }
    } else if sum / 4 > total / 3 {
        // A container may virtualise `/proc/meminfo`, for example.
        survey.gap("memory", format!("{contradiction}; both are kept"));
    }
}

/// The rows of memory that the kernel gives back at once when it is needed: pages of files, and
/// caches of its own. Older kernels lack some.
const RECLAIMABLE: [&str; 3] = ["Active(file)", "Inactive(file)", "SReclaimable"];

/// Parses a table such as `MemTotal:  24684096 kB`; lines of nodes begin with the node. Memory that
/// can be reclaimed counts as free: otherwise a machine that has read files for a while would have
/// no memory.
fn table(survey: &mut Survey<'_>, about: &str, path: &str, text: &str) -> MemorySize {
    let value = |name: &str| {
        let cells = |line: &str| {
            let (key, value) = line.split_once(':')?;
            (key.split_whitespace().next_back() == Some(name)).then(|| value.trim().to_string())
        };
        text.lines().find_map(cells)
    };
    let mut row = |name: &str, is_required: bool| {
        let Some(value) = value(name) else {
            if is_required {
                survey.gap(about, format!("`{path}` has no `{name}`"));
            }
            return None;
        };
        survey.parse_or_gap(about, path, "size in kB", &value, |value| {
            value.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
        })
    };
    let reclaimable = RECLAIMABLE.iter().filter_map(|name| row(name, false)).fold(0, u64::saturating_add);
    let (total, free) = (row("MemTotal", true), row("MemFree", true));
    if let (Some(total), Some(more)) = (total, free)
        && more > total
    {
        survey.gap(about, format!("`{path}` has {more} bytes free of {total}"));
        return MemorySize { total: Some(total), free: None };
    }
    let free = free.map(|free| free.saturating_add(reclaimable).min(total.unwrap_or(u64::MAX)));
    MemorySize { total, free }
}
