//! What the runtime must know about the machine: its cores and the node that each belongs to.

use alloc::vec::Vec;

/// A core that the runtime may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreInfo {
    /// The platform's own number for the core, which is what pinning asks for.
    pub os_id: usize,
    /// Index of the core's node, below [`Topology::nodes`].
    pub node: u16,
}

/// The cores that the runtime may use, in the order in which workers take them, and how many nodes there are.
///
/// Nodes are counted densely from 0. A platform whose own node numbers have gaps keeps the translation to itself,
/// so that everything above can hold one entry a node in a plain array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The usable cores; never empty.
    pub cores: Vec<CoreInfo>,
    /// How many nodes the machine has, with or without usable cores; at least 1.
    pub nodes: usize,
}

impl Topology {
    /// `cores` cores numbered from 0, dealt to `nodes` nodes in equal runs: what a simulation or a machine that
    /// tells nothing looks like. Zero is taken as one, for both.
    pub fn uniform(cores: usize, nodes: usize) -> Self {
        let (cores, nodes) = (cores.max(1), nodes.clamp(1, usize::from(u16::MAX)));
        let core = |os_id| CoreInfo { os_id, node: (os_id * nodes / cores) as u16 };
        Self { cores: (0..cores).map(core).collect(), nodes }
    }

    /// Node of the core that worker `worker` runs on, where workers beyond the last core start again at the first.
    pub fn node_of(&self, worker: usize) -> u16 {
        self.cores[worker % self.cores.len()].node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_deals_equal_runs() {
        let nodes = |cores, nodes| {
            Topology::uniform(cores, nodes).cores.iter().map(|core| core.node).collect::<Vec<_>>()
        };
        assert_eq!(nodes(4, 2), [0, 0, 1, 1]);
        assert_eq!(nodes(3, 1), [0, 0, 0]);
        assert_eq!(nodes(5, 2), [0, 0, 0, 1, 1]);
        assert_eq!(nodes(2, 4), [0, 2]);
        assert_eq!(nodes(0, 0), [0]);
    }

    #[test]
    fn workers_wrap_around() {
        let topology = Topology::uniform(4, 2);
        assert_eq!((topology.node_of(1), topology.node_of(3), topology.node_of(5)), (0, 1, 0));
    }
}
