//! The clocks of virtual cores, as those see them who want to know, or have something to add.

use super::Timeline;
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// Reads the clocks of a simulation with [costs](super::Costs), during it or afterwards; and for the bodies of its tasks,
/// to say how long they take. All times are in virtual nanoseconds since the simulation began.
#[derive(Clone)]
pub struct Clocks(pub(super) Arc<SpinMutex<Timeline>>);

/// How a virtual core has spent its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoreTime {
    /// Nanoseconds in which it ran tasks, or parts of them, and sent others away.
    pub busy: u64,
    /// Nanoseconds of the whole ([`Clocks::makespan`]) in which it looked for something to do, waited for a half of a
    /// join that another core had taken, or was done.
    pub idle: u64,
}

impl Clocks {
    /// Says that the body of the task that runs takes that many nanoseconds more, from here on: [`now`](Self::now) is later
    /// afterwards. Outside of tasks it does nothing.
    pub fn spend(&self, nanoseconds: u64) {
        self.0.lock().spend(nanoseconds);
    }

    /// The time of the core that runs. Outside of tasks it is the time at which the last task was over for which somebody
    /// outside has waited: what is spawned next is spawned then.
    pub fn now(&self) -> u64 {
        self.0.lock().now()
    }

    /// When the last task so far was over.
    pub fn makespan(&self) -> u64 {
        self.0.lock().makespan()
    }

    /// How each core has spent the time up to the [makespan](Self::makespan).
    pub fn cores(&self) -> Vec<CoreTime> {
        let timeline = self.0.lock();
        let whole = timeline.makespan();
        timeline.busy().map(|busy| CoreTime { busy, idle: whole.saturating_sub(busy) }).collect()
    }

    /// How much longer the busiest core was busy than all are on average, as a part of that average (often called λ): 0
    /// if the work was spread evenly, and also if there was none; cores − 1 if one did it all.
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
