//! The public view of the virtual clocks.

use super::Timeline;
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// Reads the clocks of a simulation with [costs](super::Costs), during it or afterwards. Task
/// bodies use it to say how long they take. All times are in virtual nanoseconds since the
/// simulation began.
#[derive(Clone)]
pub struct Clocks(pub(super) Arc<SpinMutex<Timeline>>);

/// How a virtual core has spent its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoreTime {
    /// Nanoseconds in which the core ran tasks or halves of joins, and sent tasks.
    pub busy: u64,
    /// Nanoseconds up to the [makespan](Clocks::makespan) in which the core searched, waited for a
    /// half of a join that another core ran, or was stopped.
    pub idle: u64,
}

impl Clocks {
    /// Adds `nanoseconds` to the time of the running task's body: [`now`](Self::now) is later by
    /// that. Does nothing outside of tasks.
    pub fn spend(&self, nanoseconds: u64) {
        self.0.lock().spend(nanoseconds);
    }

    /// Returns the time of the running core. Outside of tasks, returns the end of the last task
    /// that an outside thread has waited for: what that thread spawns next is spawned at this time.
    pub fn now(&self) -> u64 {
        self.0.lock().now()
    }

    /// Returns the latest end of a task so far.
    pub fn makespan(&self) -> u64 {
        self.0.lock().makespan()
    }

    /// Returns how each core has spent the time up to the [makespan](Self::makespan).
    pub fn cores(&self) -> Vec<CoreTime> {
        let timeline = self.0.lock();
        let whole = timeline.makespan();
        timeline.busy().map(|busy| CoreTime { busy, idle: whole.saturating_sub(busy) }).collect()
    }

    /// Returns how much longer the busiest core was busy than the average core, as a fraction of
    /// the average (often called λ). It is 0 if the work was spread evenly or there was none, and
    /// cores − 1 if one core did it all.
    pub fn imbalance(&self) -> f64 {
        let busy: Vec<u64> = self.0.lock().busy().collect();
        let most = busy.iter().copied().max().unwrap_or(0) as f64;
        let sum: f64 = busy.iter().map(|&busy| busy as f64).sum();
        if sum == 0.0 { 0.0 } else { most * busy.len() as f64 / sum - 1.0 }
    }
}

impl fmt::Debug for Clocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clocks").field("makespan", &self.makespan()).finish_non_exhaustive()
    }
}
