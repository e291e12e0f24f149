//! The answer to a request for a plan, and why there may be none.

use crate::facts::CpuSet;
use crate::plan::{Bytes, Change, Plan};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A plan with its reasons and alternatives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Suggestion {
    /// The best plan.
    pub plan: Plan,
    /// Its reasons, the most general first.
    pub why: Vec<Reason>,
    /// Plans that are nearly as good, best first.
    pub alternatives: Vec<Alternative>,
    /// The changes from the present plan; `None` if the query named none.
    pub changes: Option<Vec<Change>>,
}

/// Another plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Alternative {
    /// How it differs, in a few words.
    pub what: String,
    /// The plan.
    pub plan: Plan,
    /// How much longer it takes as a share of the best time: 0.1 is a tenth longer.
    pub costs: f64,
    /// The changes from the suggested plan.
    pub changes: Vec<Change>,
}

/// A reason: a sentence with numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reason {
    /// Its topic.
    pub about: Topic,
    /// The sentence.
    pub text: String,
}

/// The topic of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Topic {
    /// The whole plan.
    Plan,
    /// Usable CPUs.
    Cpus,
    /// The CPU quota of the control group.
    Quota,
    /// The load of other processes.
    Load,
    /// Registered runtimes of this process.
    Registered,
    /// Cores of different capacity.
    Kinds,
    /// Hardware threads of a core.
    Siblings,
    /// Workers on each NUMA node.
    Nodes,
    /// Where the data lies.
    Memory,
    /// Shared caches.
    Caches,
}

/// Why no plan satisfies a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NoPlan {
    /// No CPU may be used.
    NoCpu {
        /// The online CPUs.
        online: CpuSet,
        /// The affinity mask of the process, if it excludes CPUs.
        affinity: Option<CpuSet>,
        /// The CPUs of its control group, if it excludes some.
        group: Option<CpuSet>,
        /// The CPUs that the request excludes.
        keep: CpuSet,
    },
    /// The request needs more partitions than there may be workers.
    TooFewCpus {
        /// The minimum number of partitions, by number or by size.
        wanted: u64,
        /// The maximum number of workers.
        usable: u64,
        /// The CPU quota, if it is the limit.
        quota: Option<f64>,
    },
    /// The minimum number of partitions exceeds the maximum.
    Contradiction {
        /// The minimum, by number or by size.
        fewest: u64,
        /// The maximum, by number or by size.
        most: u64,
    },
    /// The data does not fit into memory.
    Memory {
        /// Size of all data in bytes.
        bytes: u64,
        /// Free bytes on each node whose memory may be used; `None` if unknown.
        free: Vec<(u32, Option<u64>)>,
        /// The memory limit of the control group in bytes, if any.
        limit: Option<u64>,
    },
}

impl Reason {
    pub(crate) fn new(about: Topic, text: impl Into<String>) -> Self {
        Self { about, text: text.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for NoPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCpu { online, affinity, group, keep } => {
                write!(f, "no CPU may be used: {online} are online,")?;
                let mut separator = "";
                for (what, cpus) in
                    [("the affinity mask allows", affinity), ("the control group allows", group)]
                {
                    if let Some(cpus) = cpus {
                        write!(f, "{separator} {what} {}", some(cpus))?;
                        separator = " and";
                    }
                }
                if !keep.is_empty() || separator.is_empty() {
                    write!(f, "{separator} {} are excluded by the request", some(keep))?;
                }
                Ok(())
            }
            Self::TooFewCpus { wanted, usable, quota } => {
                write!(f, "the request needs at least {wanted} partitions, but ")?;
                match quota {
                    Some(cpus) => write!(f, "the quota of {cpus} CPUs allows {usable} workers"),
                    None => write!(f, "at most {usable} workers are possible"),
                }
            }
            Self::Contradiction { fewest, most } => {
                write!(f, "the request needs at least {fewest} partitions, but allows at most {most}")
            }
            Self::Memory { bytes, free, limit } => {
                write!(f, "{} of data do not fit into memory:", Bytes(*bytes))?;
                let mut separator = "";
                for (node, free) in free {
                    match free {
                        Some(free) => write!(f, "{separator} node {node} has {} free", Bytes(*free))?,
                        None => write!(f, "{separator} the free memory of node {node} is unknown")?,
                    }
                    separator = ",";
                }
                if free.is_empty() {
                    write!(f, " no node's memory may be used")?;
                }
                limit.map_or(Ok(()), |limit| write!(f, "; the control group may use {}", Bytes(limit)))
            }
        }
    }
}

impl std::error::Error for NoPlan {}

fn some(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "none".into() } else { cpus.to_string() }
}
