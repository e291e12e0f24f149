//! Limits on what a process may use of a machine.

use super::CpuSet;
use serde::{Deserialize, Serialize};

/// The limits of this process. `None` means no known limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The CPUs of its affinity mask.
    pub affinity: Option<CpuSet>,
    /// The CPUs of its control group.
    pub group: Option<CpuSet>,
    /// The nodes whose memory its control group may use.
    pub nodes: Option<CpuSet>,
    /// The tightest CPU quota of its control groups.
    pub quota: Option<Quota>,
    /// The memory limit in bytes.
    pub memory: Option<u64>,
}

/// A limit on the CPU time of a control group, whichever CPUs it runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    /// CPU time per wall-clock time, in CPUs: 1.5 is one and a half.
    pub cpus: f64,
    /// The file that states it.
    pub source: String,
}

impl Limits {
    /// Returns true if the process may run on `cpu`.
    pub fn allow(&self, cpu: u32) -> bool {
        [&self.affinity, &self.group].into_iter().flatten().all(|cpus| cpus.contains(cpu))
    }
}
