//! The cores of a machine and the node of each.

use alloc::vec::Vec;

/// A core that the runtime may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreInfo {
    /// The platform's own number for the core; pinning uses it.
    pub os_id: usize,
    /// Index of the core's node, below [`CpuTopology::nodes`].
    pub node: u16,
}

/// The cores that the runtime may use, in the order in which workers take them, and the number of
/// nodes.
///
/// Nodes are numbered densely from 0, so that the runtime can keep one entry a node in an array. A
/// platform whose own numbers have gaps translates them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTopology {
    /// The usable cores; never empty.
    pub cores: Vec<CoreInfo>,
    /// The number of nodes, with or without usable cores; at least 1.
    pub nodes: usize,
}

impl CpuTopology {
    /// Creates `cores` cores numbered from 0, spread over `nodes` nodes in equal runs: the topology
    /// of a simulation, or of a machine that does not report its own. Zero counts as one, for both.
    pub fn uniform(cores: usize, nodes: usize) -> Self {
        let (cores, nodes) = (cores.max(1), nodes.clamp(1, usize::from(u16::MAX)));
        let core = |os_id| CoreInfo { os_id, node: (os_id * nodes / cores) as u16 };
        Self { cores: (0..cores).map(core).collect(), nodes }
    }

    /// Returns the node of the core that worker `worker` runs on. Workers beyond the last core
    /// start again at the first.
    pub fn node_of(&self, worker: usize) -> u16 {
        self.cores[worker % self.cores.len()].node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_topology_has_equal_runs_of_cores() {
        let nodes = |cores, nodes| {
            CpuTopology::uniform(cores, nodes).cores.iter().map(|core| core.node).collect::<Vec<_>>()
        };
        assert_eq!(nodes(4, 2), [0, 0, 1, 1]);
        assert_eq!(nodes(3, 1), [0, 0, 0]);
        assert_eq!(nodes(5, 2), [0, 0, 0, 1, 1]);
        assert_eq!(nodes(2, 4), [0, 2]);
        assert_eq!(nodes(0, 0), [0]);
    }

    #[test]
    fn workers_wrap_around() {
        let topology = CpuTopology::uniform(4, 2);
        assert_eq!((topology.node_of(1), topology.node_of(3), topology.node_of(5)), (0, 1, 0));
    }
}
