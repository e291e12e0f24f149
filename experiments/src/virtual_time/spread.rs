//! How even the work of a run was, and how much of its time was waited.

use super::Clocks;
use std::fmt;

/// How even the work was, up to the [makespan](Clocks::makespan).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// How much longer the busiest worker was busy than all in the mean, as a part of that.
    pub imbalance: f64,
    /// How much of the time of all workers was waited in the midst of tasks, as a part of that. On threads, how much of it they
    /// were at work outside of tasks' bodies: with claims, waiting at locks, on their way to the next task.
    pub blocked: f64,
}

impl Spread {
    /// What the clocks show.
    pub fn of(clocks: &Clocks) -> Self {
        let cores = clocks.cores();
        let whole = (cores.len() as u64 * clocks.makespan()).max(1);
        let blocked: u64 = cores.iter().map(|core| core.blocked).sum();
        Self { imbalance: clocks.imbalance(), blocked: blocked as f64 / whole as f64 }
    }
}

/// For people.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (busiest, blocked) = (1.0 + self.imbalance, 100.0 * self.blocked);
        write!(
            f,
            "the busiest worker had {busiest:.2} times the mean; {blocked:.0}% of all time was waited in tasks"
        )
    }
}
