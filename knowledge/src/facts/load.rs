//! What CPUs are doing, and what is waited for.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the CPUs were doing over a span of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// How long it was looked.
    pub span: Duration,
    /// Each CPU, by number.
    pub cpus: Vec<CpuLoad>,
}

/// Shares of a CPU's time, 0 to 1. What is left was idle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuLoad {
    /// The CPU.
    pub cpu: u32,
    /// This process.
    pub own: f64,
    /// Others at common priority, the system among them.
    pub others: f64,
    /// Others that said they give way.
    pub nice: f64,
    /// What the machine below took, where this one is virtual.
    pub steal: f64,
}

impl Load {
    /// The CPU of that number.
    pub fn of(&self, cpu: u32) -> Option<&CpuLoad> {
        self.cpus.binary_search_by_key(&cpu, |load| load.cpu).ok().map(|index| &self.cpus[index])
    }
}

impl CpuLoad {
    /// The share that strangers take and would not give up: this process could have the rest, if it shared evenly.
    pub fn strangers(&self) -> f64 {
        (self.others + self.steal).clamp(0.0, 1.0)
    }
}

/// How much was waited for lack of something (pressure stall information); `None` where the system does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// For a CPU.
    pub cpu: Option<Stalls>,
    /// For memory.
    pub memory: Option<Stalls>,
    /// For input and output.
    pub io: Option<Stalls>,
}

/// Who waited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// At least one task.
    pub some: Stall,
    /// All tasks that were not idle, if that is told.
    pub full: Option<Stall>,
}

/// Percent of the time over the last 10, 60 and 300 seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Over 10 seconds.
    pub avg10: f64,
    /// Over 60 seconds.
    pub avg60: f64,
    /// Over 300 seconds.
    pub avg300: f64,
}
