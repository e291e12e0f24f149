//! A worker as a simulation sees it that has a clock for each: what it has done, and how much has reached it.

use super::{Driver, Progress, Shared};
use crate::platform::Costs;
use alloc::sync::Arc;

/// What a worker has counted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub started: u64,
    pub finished: u64,
    pub remote_spawns: u64,
    pub steals: u64,
    /// Failed optimistic reads, and waits at latches.
    pub retries: u64,
}

impl Tally {
    /// What was counted since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            started: self.started - before.started,
            finished: self.finished - before.finished,
            remote_spawns: self.remote_spawns - before.remote_spawns,
            steals: self.steals - before.steals,
            retries: self.retries - before.retries,
        }
    }
}

impl Driver {
    /// Runs one task, as [`step`](Self::step) does, having looked at all that others offer if there was none. Also returns
    /// how many nanoseconds that takes at these costs, besides what the task's body takes by itself: 0 if nothing was run.
    pub fn step_at(&mut self, costs: &Costs) -> (Progress, u64) {
        self.look_around_next();
        let before = self.tally();
        let progress = self.step(1);
        let nanoseconds = match progress {
            Progress::Ran(_) => self.cost_since(&before, progress, costs),
            Progress::Idle | Progress::Stopped => 0,
        };
        (progress, nanoseconds)
    }

    /// What a step has taken that ran something.
    pub(crate) fn cost_since(&self, before: &Tally, progress: Progress, costs: &Costs) -> u64 {
        match progress {
            // It took tasks over, and has run none yet.
            Progress::Ran(0) => costs.steal,
            _ => costs.of_step(&self.tally().since(before), self.annotated_cost()),
        }
    }

    /// What was counted in the worker's own pool so far.
    pub(crate) fn tally(&self) -> Tally {
        let seat = &self.shared.seats[self.worker()];
        let (ledger, counters) = (&seat.ledger.0, &seat.counters.0);
        let retries = [&counters.snapshot_retries, &counters.versioned_retries, &counters.latch_waits];
        Tally {
            started: ledger.started(),
            finished: ledger.finished(),
            remote_spawns: counters.remote_spawns.get(),
            steals: counters.steals.get(),
            retries: retries.into_iter().map(|counter| counter.get()).sum(),
        }
    }

    /// The annotated cost of the task that ran last, in multiples of a small task.
    pub(crate) fn annotated_cost(&self) -> u64 {
        1 + self.held.as_ref().map_or(0, |cx| cx.current.cost())
    }

    /// Whether there are tasks in the pool that is in the worker's hands.
    pub(crate) fn has_ready_tasks(&self) -> bool {
        self.held.as_ref().is_some_and(|cx| cx.has_tasks())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Runs a task, having taken no more than that many tasks from the inbox. (Of a worker with several pools it is not
    /// known which one is next: it takes what there is.)
    pub(crate) fn step_receiving(&mut self, tasks: usize) -> Progress {
        let has_one = self.keeps.len() == 1;
        if let Some(cx) = &mut self.held {
            cx.arrived = has_one.then_some(tasks);
        }
        self.step(1)
    }

    /// Has the worker look at what others offer when it next finds nothing, and not only after some more looks.
    pub(crate) fn look_around_next(&mut self) {
        if let Some(cx) = &mut self.held {
            cx.idle_looks = cx.patience;
        }
    }
}
