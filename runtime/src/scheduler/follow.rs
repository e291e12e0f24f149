//! A runtime that resizes itself.

use super::shared::phase;
use super::{Runtime, Shared};
use crate::monitor::{Advice, Adviser, Reading};
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use core::ops::RangeInclusive;
use core::time::Duration;

/// What was asked for.
pub(crate) struct Follow {
    pub every: Duration,
    pub within: RangeInclusive<usize>,
}

/// Looks at a runtime now and then, and does what is advised.
pub(crate) struct Follower {
    every: Duration,
    state: SpinMutex<State>,
}

struct State {
    adviser: Adviser,
    advice: Option<Advice>,
    /// When it is to look next, in nanoseconds of the platform's clock.
    next: u64,
}

/// No more often than this, because looking takes time.
const SHORTEST: Duration = Duration::from_millis(1);
/// No more seldom than this does it notice that the runtime has ended.
const LONGEST: Duration = Duration::from_secs(1);

impl Follower {
    /// One for a runtime that begins with so many workers, and can have so many at most.
    pub fn new(asked: Follow, workers: usize, most: usize, now: u64) -> Self {
        let every = asked.every.max(SHORTEST);
        let from = Reading { size: workers, ..Reading::default() };
        let adviser = Adviser::new(asked.within, most, from);
        let state = State { adviser, advice: None, next: after(now, every) };
        Self { every, state: SpinMutex::new(state) }
    }

    /// The time between two calls of [`Shared::follow`].
    pub fn period(&self) -> Duration {
        self.every.min(LONGEST)
    }
}

fn after(now: u64, time: Duration) -> u64 {
    now.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

impl Shared {
    /// Resizes the runtime as is advised, if it is time; whether there will be anything to do later.
    pub(super) fn follow(self: &Arc<Self>) -> bool {
        if let (Some(follower), phase::OPEN) = (&self.follower, self.phase()) {
            let now = self.platform.now();
            if follower.state.lock().next <= now {
                self.follow_advice(follower, now);
            }
        }
        self.phase() != phase::STOPPED
    }

    fn follow_advice(self: &Arc<Self>, follower: &Follower, now: u64) {
        // Only one thread is here.
        let Some(statistics) = self.statistics() else { return };
        let mut state = follower.state.lock();
        let advice = state.adviser.advise(&statistics);
        (state.advice, state.next) = (Some(advice), after(now, follower.every));
        drop(state);
        if advice.workers != advice.size {
            // If that is not possible there are fewer, and as long as there are too few it is tried again.
            let _ = self.employ(advice.workers);
            if let Some(statistics) = self.statistics() {
                follower.state.lock().adviser.begin(&statistics);
            }
        }
    }
}

impl Runtime {
    /// The last advice that the runtime follows by itself; `None` before the first, and unless that was asked for
    /// ([`Builder::follow_advice`](super::Builder::follow_advice)).
    pub fn advice(&self) -> Option<Advice> {
        self.shared().follower.as_ref().and_then(|follower| follower.state.lock().advice)
    }
}
