//! Where workers are, decided by somebody else than the platform.

use super::{CoreInfo, Platform, Topology};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Where the workers of a runtime are, and why there: plain data, which is looked at when the runtime is
/// [built](crate::Builder::placement).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    sites: Vec<Site>,
    why: String,
}

/// Where one worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The CPU, by the number that the system gives it.
    pub cpu: u32,
    /// The node of its memory, and of the tasks that name it, by the number that the system gives it. `None`: the CPU's own.
    pub node: Option<u32>,
}

impl Placement {
    /// A worker on each of these CPUs, in that order, with the memory of the CPU's own node. The text says why, to people.
    pub fn new(cpus: impl IntoIterator<Item = u32>, why: impl Into<String>) -> Self {
        Self::at(cpus.into_iter().map(|cpu| Site { cpu, node: None }), why)
    }

    /// The same with nodes, which may be others than those of the CPUs.
    pub fn at(sites: impl IntoIterator<Item = Site>, why: impl Into<String>) -> Self {
        Self { sites: sites.into_iter().collect(), why: why.into() }
    }

    /// What a runtime does that is told nothing: a worker on each CPU that this process may run on, or on fewer of them
    /// where a quota (of a container, say) grants less.
    ///
    /// Ask on a thread that is not bound itself: its affinity mask is what counts.
    #[cfg(feature = "std")]
    pub fn of_this_process() -> Self {
        super::Threads::new(super::Threads::suggested_workers()).habit()
    }

    /// The place of each worker.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.sites.len()
    }

    /// Why there, in a sentence or less.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// The same for the first workers alone.
    pub(crate) fn first(mut self, workers: usize) -> Self {
        self.sites.truncate(workers);
        self
    }

    /// The places as cores of the platform, in the order of the workers.
    pub(crate) fn topology(&self, platform: &dyn Platform) -> Result<Topology, Misplaced> {
        let below = platform.topology();
        let mut taken = BTreeSet::new();
        let core = |site: &Site| {
            let os_id = site.cpu as usize;
            let own = below.cores.iter().find(|core| core.os_id == os_id);
            let own = own.ok_or(Misplaced::NotUsable { cpu: site.cpu })?;
            if !taken.insert(site.cpu) {
                return Err(Misplaced::Twice { cpu: site.cpu });
            }
            let node = match site.node {
                None => own.node,
                Some(node) => platform.node_of_number(node).ok_or(Misplaced::NoSuchNode { node })?,
            };
            Ok(CoreInfo { os_id, node })
        };
        Ok(Topology { cores: self.sites.iter().map(core).collect::<Result<_, _>>()?, nodes: below.nodes })
    }
}

/// Runs of CPUs are written as such: `0-3,8: the others are busy`.
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

/// Why workers cannot be where a [`Placement`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// The CPU is not there, or this process may not run on it.
    NotUsable {
        /// Its number.
        cpu: u32,
    },
    /// Two workers are to be on one CPU.
    Twice {
        /// Its number.
        cpu: u32,
    },
    /// There is no such node.
    NoSuchNode {
        /// Its number.
        node: u32,
    },
    /// There are to be more workers than places, now or [later](crate::Builder::most_workers).
    TooFew {
        /// How many workers.
        workers: usize,
        /// How many places.
        places: usize,
    },
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUsable { cpu } => write!(f, "CPU {cpu} is not there, or this process may not run on it"),
            Self::Twice { cpu } => write!(f, "CPU {cpu} is named twice"),
            Self::NoSuchNode { node } => write!(f, "there is no node {node}"),
            Self::TooFew { workers, places } => {
                write!(f, "{workers} workers are asked for, and there are places for {places}")
            }
        }
    }
}

impl core::error::Error for Misplaced {}
