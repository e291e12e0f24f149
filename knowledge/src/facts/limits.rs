//! What a process may use of a machine.

use super::CpuSet;
use serde::{Deserialize, Serialize};

/// What this process may use. `None` is no limit, as far as is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The CPUs of its affinity mask.
    pub affinity: Option<CpuSet>,
    /// The CPUs of its control group.
    pub group: Option<CpuSet>,
    /// The nodes whose memory its control group may use.
    pub nodes: Option<CpuSet>,
    /// The tightest quota of its control groups.
    pub quota: Option<Quota>,
    /// Bytes of memory.
    pub memory: Option<u64>,
}

/// So much time of CPUs a group of processes gets, however many CPUs it runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    /// CPUs' worth of time: 1.5 are three halves of a CPU.
    pub cpus: f64,
    /// The file that says so.
    pub source: String,
}

impl Limits {
    /// Whether the process may run on the CPU.
    pub fn allow(&self, cpu: u32) -> bool {
        [&self.affinity, &self.group].into_iter().flatten().all(|cpus| cpus.contains(cpu))
    }
}
