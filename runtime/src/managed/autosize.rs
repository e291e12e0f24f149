//! A runtime that resizes itself.

use super::sizing::{Advice, Adviser, Sample};
use crate::scheduler::{Runtime, RuntimeState, phase};
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use core::ops::RangeInclusive;
use core::time::Duration;

/// What [`Builder::follow_advice`](crate::Builder::follow_advice) was called with.
pub(crate) struct AutosizeOptions {
    pub every: Duration,
    pub within: RangeInclusive<usize>,
}

/// Asks for advice at intervals, and resizes the runtime accordingly.
pub(crate) struct Autosizer {
    every: Duration,
    state: SpinMutex<AutosizerState>,
}

struct AutosizerState {
    adviser: Adviser,
    advice: Option<Advice>,
    /// When to ask next, in nanoseconds of the platform's clock.
    next: u64,
}

/// Intervals are at least this long, because reading the statistics takes time.
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);
/// [`RuntimeState::follow`] is called at least this often, to notice the end of the runtime.
const LONGEST_PERIOD: Duration = Duration::from_secs(1);

impl Autosizer {
    /// Makes one for a runtime that begins with `workers` workers and can have at most `most`.
    pub fn new(options: AutosizeOptions, workers: usize, most: usize, now: u64) -> Self {
        let every = options.every.max(SHORTEST_PERIOD);
        let from = Sample { size: workers, ..Sample::default() };
        let adviser = Adviser::new(options.within, most, from);
        let state = AutosizerState { adviser, advice: None, next: time_after(now, every) };
        Self { every, state: SpinMutex::new(state) }
    }

    /// Returns the time between two calls of [`RuntimeState::follow`].
    pub fn period(&self) -> Duration {
        self.every.min(LONGEST_PERIOD)
    }
}

fn time_after(now: u64, time: Duration) -> u64 {
    now.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

impl RuntimeState {
    /// Resizes the runtime as advised, if it is time. Returns false if the runtime has ended.
    pub(crate) fn follow(self: &Arc<Self>) -> bool {
        if let (Some(follower), phase::OPEN) = (&self.follower, self.phase()) {
            let now = self.platform.now();
            if follower.state.lock().next <= now {
                self.follow_advice(follower, now);
            }
        }
        self.phase() != phase::STOPPED
    }

    fn follow_advice(self: &Arc<Self>, follower: &Autosizer, now: u64) {
        // Only one thread calls `follow`, so no other can advise between this and the lock.
        let Some(statistics) = self.statistics() else { return };
        let mut state = follower.state.lock();
        let advice = state.adviser.advise(&statistics);
        (state.advice, state.next) = (Some(advice), time_after(now, follower.every));
        drop(state);
        if advice.workers != advice.size {
            // An error leaves fewer workers than advised; the next advice tries again.
            let _ = self.set_workers(advice.workers);
            if let Some(statistics) = self.statistics() {
                follower.state.lock().adviser.begin_span(&statistics);
            }
        }
    }
}

impl Runtime {
    /// Returns the last advice that the runtime has followed by itself. `None` before the first,
    /// and without [`Builder::follow_advice`](crate::Builder::follow_advice).
    pub fn advice(&self) -> Option<Advice> {
        self.shared().follower.as_ref().and_then(|follower| follower.state.lock().advice)
    }
}
