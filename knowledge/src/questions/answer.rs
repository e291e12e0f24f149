//! What is answered when places are asked for.

use crate::facts::CpuSet;
use crate::plan::{Bytes, Change, Plan};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A plan, why it is as it is, and what else could be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The best plan.
    pub plan: Plan,
    /// Why, the most general first.
    pub why: Vec<Reason>,
    /// Other plans that are nearly as good, the best first.
    pub alternatives: Vec<Alternative>,
    /// What leads from the present plan to this one; `None` if no present one was told.
    pub changes: Option<Vec<Change>>,
}

/// Another plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// What is different about it, in a few words.
    pub what: String,
    /// The plan.
    pub plan: Plan,
    /// How much longer it is predicted to take: 0.1 is a tenth longer.
    pub costs: f64,
    /// What leads from the suggestion to it.
    pub changes: Vec<Change>,
}

/// A reason, in a sentence with numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What it is about.
    pub about: About,
    /// The sentence.
    pub text: String,
}

/// What a reason is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum About {
    /// The whole plan.
    Plan,
    /// Which CPUs may be used.
    Cpus,
    /// The quota of the control group.
    Quota,
    /// What strangers do on the CPUs.
    Load,
    /// What our own runtimes do.
    Registered,
    /// Cores of different strength.
    Kinds,
    /// Threads of a core.
    Siblings,
    /// How many workers each node has.
    Nodes,
    /// Where data lies.
    Memory,
    /// Who shares a cache.
    Caches,
}

/// Nothing obeys what is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NoPlan {
    /// No CPU may be used.
    NoCpu {
        /// The CPUs that are online.
        online: CpuSet,
        /// The affinity mask of the process, if there is one.
        affinity: Option<CpuSet>,
        /// The CPUs of its control group, if they are told.
        group: Option<CpuSet>,
        /// Those that were to be kept free.
        keep: CpuSet,
    },
    /// More partitions are asked for than there may be.
    TooFewCpus {
        /// At least so many are asked for, by number or by size.
        wanted: u64,
        /// So many workers there may be.
        usable: u64,
        /// The quota, if that is what allows no more.
        quota: Option<f64>,
    },
    /// The fewest partitions that are asked for are more than the most.
    Contradiction {
        /// The fewest, by number or by size.
        fewest: u64,
        /// The most, by number or by size.
        most: u64,
    },
    /// The data does not fit into memory.
    Memory {
        /// Bytes of all data.
        bytes: u64,
        /// Bytes that are free on the nodes whose memory may be used; `None` is not known.
        free: Vec<(u32, Option<u64>)>,
        /// Bytes that the control group may use, if limited.
        limit: Option<u64>,
    },
}

impl Reason {
    pub(crate) fn new(about: About, text: impl Into<String>) -> Self {
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
                write!(f, "no CPU may be used: of {online}, which are online,")?;
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
                    write!(f, "{separator} {} are to be kept free", some(keep))?;
                }
                Ok(())
            }
            Self::TooFewCpus { wanted, usable, quota } => {
                write!(f, "{wanted} partitions are needed at least, but ")?;
                match quota {
                    Some(cpus) => write!(f, "the quota of {cpus} CPUs grants {usable} workers"),
                    None => write!(f, "there may be {usable} workers"),
                }
            }
            Self::Contradiction { fewest, most } => {
                write!(f, "{fewest} partitions are needed at least, but {most} are allowed at most")
            }
            Self::Memory { bytes, free, limit } => {
                write!(f, "{} do not fit into memory:", Bytes(*bytes))?;
                let mut separator = "";
                for (node, free) in free {
                    match free {
                        Some(free) => write!(f, "{separator} node {node} has {} free", Bytes(*free))?,
                        None => write!(f, "{separator} node {node} does not tell what is free")?,
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
