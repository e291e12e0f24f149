//! What is known of a machine at one moment: plain data, which can be written down and read again.
//!
//! Nothing here is invented. What the system does not tell is `None` or empty, and named in [`Facts::gaps`]; so is what
//! contradicts itself.

mod cpu_set;
mod limits;
mod load;
pub(crate) mod sense;
mod symmetric;

pub use cpu_set::{CpuSet, NotACpuSet};
pub use limits::{Limits, Quota};
pub use load::{CpuLoad, Load, Pressure, Stall, Stalls};

use serde::{Deserialize, Serialize};

/// A logical CPU that is online, by the number that the system gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// The system's number.
    pub id: u32,
    /// The core that it is a thread of: a number that no other core of the machine has.
    pub core: u32,
    /// The package (socket) that the core is in.
    pub package: u32,
    /// The NUMA node.
    pub node: u32,
    /// What it can do, where 1024 is the strongest CPU of the machine. `None`: nothing is said, so all are taken for alike.
    pub capacity: Option<u16>,
    /// Which kind of core it is, on machines that have several.
    pub kind: Option<CoreKind>,
}

/// Kinds of cores of a hybrid machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CoreKind {
    /// The faster ones.
    Performance,
    /// The ones that use less power.
    Efficiency,
}

/// A cache and who shares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is the nearest to a core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Bytes.
    pub size: u64,
    /// Bytes of a line, if known.
    pub line: Option<u32>,
    /// Who shares it.
    pub cpus: CpuSet,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CacheKind {
    /// Data alone.
    Data,
    /// Instructions alone.
    Instruction,
    /// Both.
    Unified,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The system's number.
    pub id: u32,
    /// Its CPUs; none where it is memory alone.
    pub cpus: CpuSet,
    /// Bytes of memory, if known.
    pub memory: Option<u64>,
    /// Bytes that are free, if known.
    pub free: Option<u64>,
    /// How far it is to each node of [`Facts::nodes`], in their order: 10 is its own, 20 twice as far. Empty if unknown.
    pub distances: Vec<u32>,
}

/// What one of our own runtimes says it uses, so that others of the same process leave it alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Registration {
    /// What it is called.
    pub name: String,
    /// Where its workers are: a CPU once for each of them.
    pub cpus: Vec<u32>,
    /// Bytes of memory it is about to use, by node.
    pub memory: Vec<(u32, u64)>,
}

/// A fact that is not there, or that another one contradicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// What is concerned, such as `memory of node 1`.
    pub about: String,
    /// Whether it is missing, or what it contradicts, in a sentence.
    pub why: String,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// What the processor calls itself, if it does.
    pub model: Option<String>,
    /// All CPUs that are online, by number.
    pub cpus: Vec<Cpu>,
    /// All caches, by level, kind and first CPU.
    pub caches: Vec<Cache>,
    /// All nodes, by number: at least one.
    pub nodes: Vec<Node>,
    /// Bytes of memory of the machine, if known.
    pub memory: Option<u64>,
    /// What this process may use of it.
    pub limits: Limits,
    /// What the CPUs were doing over a span of time, if that was looked at.
    pub load: Option<Load>,
    /// How much was waited for lack of something.
    pub pressure: Pressure,
    /// What our own runtimes have registered.
    pub registered: Vec<Registration>,
    /// What is missing or contradictory.
    pub gaps: Vec<Gap>,
}

impl Facts {
    /// The CPU of that number.
    pub fn cpu(&self, id: u32) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok().map(|index| &self.cpus[index])
    }

    /// The CPUs that this process may run on: those online that neither its affinity mask nor its control group forbids.
    pub fn allowed(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.id).filter(|&id| self.limits.allow(id)).collect()
    }
}
