//! Steps of a worker on a virtual clock: what a step has done, and how many tasks have arrived.

use super::{Driver, Progress, RuntimeState};
use crate::platform::{Costs, StepCounts};
use alloc::sync::Arc;

impl Driver {
    /// Runs one task, as [`step`](Self::step) does. If there is none, it searches all other workers
    /// at once. Also returns the nanoseconds that the step takes at these costs, without the time
    /// of the task's body: 0 if nothing was run.
    pub fn step_at(&mut self, costs: &Costs) -> (Progress, u64) {
        self.probe_next();
        let before = self.tally();
        let progress = self.step(1);
        let nanoseconds = match progress {
            Progress::Ran(_) => self.cost_since(&before, progress, costs),
            Progress::Idle | Progress::Stopped => 0,
        };
        (progress, nanoseconds)
    }

    /// Returns the nanoseconds of a step that ran tasks or stole some.
    pub(crate) fn cost_since(&self, before: &StepCounts, progress: Progress, costs: &Costs) -> u64 {
        match progress {
            // It stole tasks, and has run none yet.
            Progress::Ran(0) => costs.steal,
            _ => costs.of_step(&self.tally().since(before), self.annotated_cost()),
        }
    }

    /// Returns when the next timer of this worker's run queues is due.
    pub(crate) fn next_timer(&self) -> Option<u64> {
        self.owned.iter().filter_map(|&queue| self.shared.next_timer(queue)).min()
    }

    /// Returns what the worker's own run queue has counted so far.
    pub(crate) fn tally(&self) -> StepCounts {
        let slot = &self.shared.slots[self.worker()];
        let (ledger, counters) = (&slot.ledger.0, &slot.counters.0);
        let retries = [&counters.snapshot_retries, &counters.versioned_retries, &counters.latch_waits];
        StepCounts {
            started: ledger.started(),
            finished: ledger.finished(),
            remote_spawns: counters.remote_spawns.get(),
            steals: counters.steals.get(),
            walk_steps: counters.walk_steps.get(),
            retries: retries.into_iter().map(|counter| counter.get()).sum(),
        }
    }

    /// Returns the annotated cost of the task that ran last, in multiples of a small task.
    pub(crate) fn annotated_cost(&self) -> u64 {
        1 + self.held.as_ref().map_or(0, |worker| worker.current.cost())
    }

    /// Returns true if the run queue that this worker holds has tasks.
    pub(crate) fn has_ready_tasks(&self) -> bool {
        self.held.as_ref().is_some_and(|worker| worker.has_tasks())
    }

    pub(crate) fn shared(&self) -> &Arc<RuntimeState> {
        &self.shared
    }

    /// Runs a task, and takes at most `tasks` tasks from the inbox before. A worker with several
    /// run queues takes all that is there, as it is unknown which of them is next.
    pub(crate) fn step_receiving(&mut self, tasks: usize) -> Progress {
        let has_one = self.owned.len() == 1;
        if let Some(worker) = &mut self.held {
            worker.queue.arrived = has_one.then_some(tasks);
        }
        self.step(1)
    }

    /// Makes the worker search other workers as soon as it finds no task.
    pub(crate) fn probe_next(&mut self) {
        if let Some(worker) = &mut self.held {
            worker.probe_others_next();
        }
    }
}
