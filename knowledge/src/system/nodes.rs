//! NUMA nodes and their memory.

use super::root::Survey;
use crate::facts::{CpuSet, Node, sense};

const NODES: &str = "/sys/devices/system/node";

/// Bytes, as far as they are known.
#[derive(Clone, Copy, Default)]
pub(super) struct Memory {
    pub(super) total: Option<u64>,
    pub(super) free: Option<u64>,
}

/// The memory of the machine.
pub(super) fn memory(survey: &mut Survey<'_>) -> Memory {
    let path = "/proc/meminfo";
    match survey.needed("memory", path) {
        Some(text) => table(survey, "memory", path, &text),
        None => Memory::default(),
    }
}

/// The nodes: at least one, and each CPU in one of them.
pub(super) fn nodes(survey: &mut Survey<'_>, online: &CpuSet, machine: Memory) -> Vec<Node> {
    let numbers = survey.root.numbered(NODES, "node");
    if numbers.is_empty() {
        survey.gap("nodes", format!("`{NODES}` names none: all CPUs and all memory are taken for one"));
        let Memory { total, free } = machine;
        return vec![Node { id: 0, cpus: online.clone(), memory: total, free, distances: Vec::new() }];
    }
    let count = numbers.len();
    let mut nodes: Vec<_> = numbers.into_iter().map(|id| node(survey, online, id, count)).collect();
    sense::distances(&mut nodes, &mut survey.gaps);
    sense::each_cpu_once(&mut nodes, online, &mut survey.gaps);
    cross_check(survey, &mut nodes, machine);
    nodes
}

/// What is told of one of `count` nodes.
fn node(survey: &mut Survey<'_>, online: &CpuSet, id: u32, count: usize) -> Node {
    let folder = format!("{NODES}/node{id}");
    let path = format!("{folder}/cpulist");
    let about = format!("CPUs of node {id}");
    let list = survey.needed(&about, &path);
    let list = list.and_then(|list| {
        survey.understood(&about, &path, "list of CPUs", &list, |text| text.parse::<CpuSet>().ok())
    });
    let path = format!("{folder}/meminfo");
    let about = format!("memory of node {id}");
    let memory = match survey.needed(&about, &path) {
        Some(text) => table(survey, &about, &path, &text),
        None => Memory::default(),
    };
    let path = format!("{folder}/distance");
    let about = format!("distances of node {id}");
    let distances = survey.needed(&about, &path).and_then(|text| {
        let what = format!("list of {count} distances");
        survey.understood(&about, &path, &what, &text, |text| {
            let distances = text.split_whitespace().map(|distance| distance.parse().ok());
            distances.collect::<Option<Vec<u32>>>().filter(|distances| distances.len() == count)
        })
    });
    Node {
        id,
        // Some kernels list a node's CPUs whether they are online or not.
        cpus: list.unwrap_or_default().and(online),
        memory: memory.total,
        free: memory.free,
        distances: distances.unwrap_or_default(),
    }
}

/// Does not believe nodes that together have much less memory than the machine.
///
/// Memory is given to the nodes bit by bit after the system has started, and where that has not come to its end, a node
/// tells what it has been given so far.
fn cross_check(survey: &mut Survey<'_>, nodes: &mut [Node], machine: Memory) {
    let sum = nodes.iter().map(|node| node.memory).try_fold(0_u64, |sum, memory| sum.checked_add(memory?));
    let (Some(sum), Some(total)) = (sum, machine.total) else { return };
    let contradiction = format!("the nodes say {sum} bytes, `/proc/meminfo` says {total}");
    // Some memory is kept from both; a quarter more or less is none of that.
    if sum / 3 < total / 4 {
        if let [node] = nodes {
            survey.gap(
                "memory of nodes",
                format!("{contradiction}: the latter is believed, since there is one node"),
            );
            (node.memory, node.free) = (machine.total, machine.free);
        } else {
            survey.gap("memory of nodes", format!("{contradiction}: no node is believed"));
            for node in nodes {
                (node.memory, node.free) = (None, None);
            }
        }
    } else if sum / 4 > total / 3 {
        // A container's view of `/proc/meminfo`, for instance.
        survey.gap("memory", format!("{contradiction}: both are kept"));
    }
}

/// Reads a table such as `MemTotal:  24684096 kB`, in which lines of nodes begin with the node.
fn table(survey: &mut Survey<'_>, about: &str, path: &str, text: &str) -> Memory {
    let mut row = |name: &str| {
        let cells = |line: &str| {
            let (key, value) = line.split_once(':')?;
            (key.split_whitespace().next_back() == Some(name)).then(|| value.trim().to_string())
        };
        let Some(value) = text.lines().find_map(cells) else {
            survey.gap(about, format!("`{path}` does not tell {name}"));
            return None;
        };
        survey.understood(about, path, "size in kB", &value, |value| {
            value.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
        })
    };
    let (total, free) = (row("MemTotal"), row("MemFree"));
    if let (Some(total), Some(more)) = (total, free)
        && more > total
    {
        survey.gap(about, format!("`{path}` tells of {more} bytes free of {total}"));
        return Memory { total: Some(total), free: None };
    }
    Memory { total, free }
}
