//! Synthetic machines in which all parts are equal.

use super::{Cache, CacheKind, Cpu, CpuSet, Facts, Node};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

impl Facts {
    /// Returns the facts of a hypothetical machine: `packages`, with `nodes` in each, `cores` in
    /// each node, and `threads` in each core. CPU numbers run over the first threads of all cores,
    /// then over the second threads, as usual on Linux.
    ///
    /// Each core has 32 KiB of level 1 data cache and 1 MiB of level 2. Each node has 32 MiB of
    /// level 3 and 16 GiB of free memory. The process has no limits, and the load is unknown.
    ///
    /// # Panics
    ///
    /// If one of the numbers is 0.
    pub fn symmetric(packages: u32, nodes: u32, cores: u32, threads: u32) -> Self {
        assert!(packages > 0 && nodes > 0 && cores > 0 && threads > 0, "each count must be at least 1");
        let all_nodes = packages * nodes;
        let all_cores = all_nodes * cores;
        let cpus: Vec<Cpu> = (0..all_cores * threads)
            .map(|id| {
                let core = id % all_cores;
                let node = core / cores;
                Cpu { id, core, package: node / nodes, node, capacity: None, kind: None }
            })
            .collect();
        let of_core =
            |core: u32| -> CpuSet { (0..threads).map(|thread| thread * all_cores + core).collect() };
        let of_node =
            |node: u32| -> CpuSet { cpus.iter().filter(|cpu| cpu.node == node).map(|cpu| cpu.id).collect() };
        let cache = |level, kind, size, cpus: CpuSet| Cache { level, kind, size, line: Some(64), cpus };
        let mut caches = Vec::new();
        for core in 0..all_cores {
            caches.push(cache(1, CacheKind::Data, 32 * KIB, of_core(core)));
        }
        for core in 0..all_cores {
            caches.push(cache(2, CacheKind::Unified, MIB, of_core(core)));
        }
        for node in 0..all_nodes {
            caches.push(cache(3, CacheKind::Unified, 32 * MIB, of_node(node)));
        }
        let distance = |a: u32, b: u32| match () {
            () if a == b => 10,
            () if a / nodes == b / nodes => 12,
            () => 21,
        };
        let nodes = (0..all_nodes)
            .map(|id| Node {
                id,
                cpus: of_node(id),
                memory: Some(16 * GIB),
                free: Some(16 * GIB),
                distances: (0..all_nodes).map(|other| distance(id, other)).collect(),
            })
            .collect();
        Self { cpus, caches, nodes, memory: Some(u64::from(all_nodes) * 16 * GIB), ..Self::default() }
    }
}
