//! An explicit placement: which CPU each worker runs on.

use super::{CoreInfo, CpuTopology, Platform};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The CPU of each worker of a runtime, and the reason. Plain data, checked when the runtime is
/// [built](crate::Builder::placement).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    sites: Vec<Site>,
    why: String,
}

/// The place of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The CPU, by the system's number.
    pub cpu: u32,
    /// The node of the worker's memory, and of tasks that name the node, by the system's number.
    /// `None`: the CPU's own node.
    pub node: Option<u32>,
}

impl Placement {
    /// Places a worker on each of these CPUs, in that order, with the memory of the CPU's own node.
    /// `why` is the reason, for people to read.
    pub fn new(cpus: impl IntoIterator<Item = u32>, why: impl Into<String>) -> Self {
        Self::at(cpus.into_iter().map(|cpu| Site { cpu, node: None }), why)
    }

    /// Places workers on these CPUs and nodes; a node need not be its CPU's own.
    pub fn at(sites: impl IntoIterator<Item = Site>, why: impl Into<String>) -> Self {
        Self { sites: sites.into_iter().collect(), why: why.into() }
    }

    /// Returns the placement that a runtime has by default: a worker on each CPU that this process
    /// may run on, or on fewer where a quota (of a container, for example) grants less.
    ///
    /// Call it on a thread that is not pinned: the thread's affinity mask counts.
    #[cfg(feature = "std")]
    pub fn of_this_process() -> Self {
        super::Threads::new(super::Threads::suggested_workers()).default_placement()
    }

    /// Returns the place of each worker.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.sites.len()
    }

    /// Returns the reason, a sentence or less.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Keeps the first `workers` places.
    pub(crate) fn first(mut self, workers: usize) -> Self {
        self.sites.truncate(workers);
        self
    }

    /// Returns the places as cores of the platform, in the order of the workers.
    pub(crate) fn topology(&self, platform: &dyn Platform) -> Result<CpuTopology, Misplaced> {
        let all = platform.topology();
        let mut taken = BTreeSet::new();
        let core = |site: &Site| {
            let os_id = site.cpu as usize;
            let known = all.cores.iter().find(|core| core.os_id == os_id);
            let known = known.ok_or(Misplaced::NotUsable { cpu: site.cpu })?;
            if !taken.insert(site.cpu) {
                return Err(Misplaced::Twice { cpu: site.cpu });
            }
            let node = match site.node {
                None => known.node,
                Some(node) => platform.node_of_number(node).ok_or(Misplaced::NoSuchNode { node })?,
            };
            Ok(CoreInfo { os_id, node })
        };
        Ok(CpuTopology { cores: self.sites.iter().map(core).collect::<Result<_, _>>()?, nodes: all.nodes })
    }
}

/// Joins consecutive CPUs into ranges: `0-3,8: the others are busy`.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = if self.workers() == 1 { "CPU " } else { "CPUs " };
        for run in self.sites.chunk_by(|site, next| site.cpu.checked_add(1) == Some(next.cpu)) {
            write!(f, "{separator}{}", run[0].cpu)?;
            if let [_, .., last] = run {
                write!(f, "-{}", last.cpu)?;
            }
            separator = ",";
        }
        write!(f, ": {}", self.why)
    }
}

/// Why workers cannot run where a [`Placement`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misplaced {
    /// The CPU does not exist, or this process may not run on it.
    NotUsable {
        /// The CPU's number.
        cpu: u32,
    },
    /// Two workers are placed on one CPU.
    Twice {
        /// The CPU's number.
        cpu: u32,
    },
    /// There is no such node.
    NoSuchNode {
        /// The node's number.
        node: u32,
    },
    /// There are more workers than places, or there [may be](crate::Builder::most_workers).
    TooFew {
        /// The number of workers.
        workers: usize,
        /// The number of places.
        places: usize,
    },
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUsable { cpu } => {
                write!(
                    f,
                    "CPU {cpu} does not exist, or this process may not run on it; \
                     `Platform::topology` lists the usable CPUs"
                )
            }
            Self::Twice { cpu } => write!(f, "CPU {cpu} has two workers; give each worker a CPU of its own"),
            Self::NoSuchNode { node } => write!(
                f,
                "node {node} does not exist; use a number that the system gives to a node, or `None`"
            ),
            Self::TooFew { workers, places } => {
                write!(
                    f,
                    "the placement has CPUs for {places} of {workers} workers; add CPUs, or ask for \
                     fewer in `Builder::workers` and `Builder::most_workers`"
                )
            }
        }
    }
}

impl core::error::Error for Misplaced {}
