//! Facts about a machine at one moment, as plain data that can be serialised.
//!
//! Facts are measured, never guessed. What the system does not report is `None` or empty and named
//! in [`Facts::gaps`]; so are contradictions.

pub(crate) mod consistency;
mod cpu_set;
mod limits;
mod load;
mod symmetric;

pub use cpu_set::{CpuSet, InvalidCpuSet};
pub use limits::{Limits, Quota};
pub use load::{CpuLoad, Load, Pressure, Stall, Stalls};

use serde::{Deserialize, Serialize};

/// A logical CPU that is online.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Its number in the system.
    pub id: u32,
    /// The number of its core, unique within the machine.
    pub core: u32,
    /// The number of the package (socket) of its core.
    pub package: u32,
    /// The number of its NUMA node.
    pub node: u32,
    /// Its relative capacity, where 1024 is the fastest CPU of the machine. `None` if not reported;
    /// all CPUs then count as equal.
    pub capacity: Option<u16>,
    /// The kind of its core, on hybrid machines.
    pub kind: Option<CoreKind>,
}

/// The kinds of cores of a hybrid machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CoreKind {
    /// Fast cores.
    Performance,
    /// Cores that use less power.
    Efficiency,
}

/// A cache and the CPUs that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// The level; 1 is the nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Size in bytes.
    pub size: u64,
    /// Size of a line in bytes, if known.
    pub line: Option<u32>,
    /// The CPUs that share it.
    pub cpus: CpuSet,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Data and instructions.
    Unified,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number in the system.
    pub id: u32,
    /// Its CPUs; empty for a node of memory only.
    pub cpus: CpuSet,
    /// Memory in bytes, if known.
    pub memory: Option<u64>,
    /// Memory in bytes that is free, or that the kernel reclaims when it is needed, such as pages
    /// of files; if known.
    pub free: Option<u64>,
    /// The distance to each node of [`Facts::nodes`], in their order: 10 to itself, 20 for twice as
    /// far. Empty if unknown.
    pub distances: Vec<u32>,
}

/// What one runtime of this process uses, so that other runtimes avoid it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Registration {
    /// The name of the runtime.
    pub name: String,
    /// The CPU of each of its workers; a CPU appears once for each worker.
    pub cpus: Vec<u32>,
    /// Bytes of memory that it is about to use, by node.
    pub memory: Vec<(u32, u64)>,
}

/// A fact that is missing, or that contradicts another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The subject, such as `memory of node 1`.
    pub about: String,
    /// What is missing or contradictory, and what is assumed instead.
    pub why: String,
}

/// All facts about a machine; see the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The name of the processor, if reported.
    pub model: Option<String>,
    /// All online CPUs, by number.
    pub cpus: Vec<Cpu>,
    /// All caches, by level, kind and first CPU.
    pub caches: Vec<Cache>,
    /// All NUMA nodes, by number; at least one.
    pub nodes: Vec<Node>,
    /// Memory of the machine in bytes, if known.
    pub memory: Option<u64>,
    /// The limits of this process.
    pub limits: Limits,
    /// The load of the CPUs over a time span, if measured.
    pub load: Option<Load>,
    /// Pressure stall information.
    pub pressure: Pressure,
    /// The registrations of our own runtimes.
    pub registered: Vec<Registration>,
    /// Missing or contradictory facts.
    pub gaps: Vec<Gap>,
}

impl Facts {
    /// Returns the CPU with this number.
    pub fn cpu(&self, id: u32) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok().map(|index| &self.cpus[index])
    }

    /// Returns the CPUs that this process may run on: online, in its affinity mask and in its
    /// control group.
    pub fn allowed(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.id).filter(|&id| self.limits.allow(id)).collect()
    }
}
