//! The load of the CPUs, and pressure stall information.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The load of the CPUs over a time span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The length of the span.
    pub span: Duration,
    /// The load of each CPU, by number.
    pub cpus: Vec<CpuLoad>,
}

/// Shares of a CPU's time, from 0 to 1. The rest is idle time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuLoad {
    /// The number of the CPU.
    pub cpu: u32,
    /// This process.
    pub own: f64,
    /// Other processes at normal priority, and the kernel.
    pub others: f64,
    /// Other processes at lower priority (niced).
    pub nice: f64,
    /// Time that the hypervisor took from a virtual machine.
    pub steal: f64,
}

impl Load {
    /// Returns the load of a CPU.
    pub fn cpu(&self, cpu: u32) -> Option<&CpuLoad> {
        self.cpus.binary_search_by_key(&cpu, |load| load.cpu).ok().map(|index| &self.cpus[index])
    }
}

impl CpuLoad {
    /// Returns the share of others that do not yield to this process: other processes at normal
    /// priority, and steal time.
    pub fn competing(&self) -> f64 {
        (self.others + self.steal).clamp(0.0, 1.0)
    }
}

/// Pressure stall information: how much tasks waited for a resource. `None` if not reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Waiting for a CPU.
    pub cpu: Option<Stalls>,
    /// Waiting for memory.
    pub memory: Option<Stalls>,
    /// Waiting for input and output.
    pub io: Option<Stalls>,
}

/// The share of time in which tasks stalled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// At least one task stalled.
    pub some: Stall,
    /// All non-idle tasks stalled at once, if reported.
    pub full: Option<Stall>,
}

/// Percent of the last 10, 60 and 300 seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Over 10 seconds.
    pub avg10: f64,
    /// Over 60 seconds.
    pub avg60: f64,
    /// Over 300 seconds.
    pub avg300: f64,
}
