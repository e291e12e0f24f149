//! Durations of the runtime's operations on virtual cores.

/// Durations of the runtime's operations on a core of a [`Simulation`](super::Simulation), in
/// virtual nanoseconds.
///
/// A core that runs a task pays:
///
/// - `task`;
/// - `unit` times the cost that the task is annotated with
///   ([`TaskBuilder::cost`](crate::TaskBuilder::cost));
/// - what the body adds by itself ([`Clocks::spend`](super::Clocks::spend));
/// - for each task that it spawns, `local_push` or `remote_push`;
/// - for each step of a walk that it carries ([`Bundle`](crate::bundle::Bundle)), `unit`.
///
/// A task that does not finish in a step, because it waits for an object or reads again, pays only
/// `task` for that step. Every step takes at least 1 ns.
///
/// The default roughly models a core of 3 GHz whose cache lines come from a cache shared by all
/// cores. Predictions for a machine depend on how well these costs match it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Taking a task from the run queue and freeing its descriptor, without the body.
    pub task: u64,
    /// The body of a small task: one annotated with a cost of 1, or with none.
    pub unit: u64,
    /// Spawning a task that stays on its core.
    pub local_push: u64,
    /// Sending a task to another core.
    pub remote_push: u64,
    /// Taking a half of a join from another core.
    pub steal: u64,
    /// One fruitless search of all other workers' offers, by a core that has just run out of tasks.
    pub miss: u64,
    /// The interval between two polls of an idle core for work. What has arrived for the core is
    /// seen at the next poll.
    pub poll: u64,
    /// A failed optimistic read, or a wait at a latch.
    pub retry: u64,
    /// One put or take at the queue that all cores share
    /// ([`QueuePolicy::Ranked`](crate::QueuePolicy::Ranked)), besides `local_push` and `task`. The
    /// queue is locked for this long, and other cores spin until then. With a
    /// [relaxed](crate::queues::RankOrder::Relaxed) order each heap has its own lock.
    pub queue: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            task: 5,
            unit: 10,
            local_push: 5,
            remote_push: 40,
            steal: 200,
            miss: 100,
            poll: 20,
            retry: 20,
            queue: 100,
        }
    }
}

impl Costs {
    /// Returns the time from running out of tasks to the next poll.
    pub(super) fn fall_idle(&self) -> u64 {
        self.poll.saturating_add(self.miss)
    }

    /// Returns the duration of a step in which a core ran something, without what the body added by
    /// itself. `counted` is what the worker has counted during the step, `annotated` the cost of
    /// the task that it ran.
    pub(crate) fn of_step(&self, counted: &StepCounts, annotated: u64) -> u64 {
        let (ran, least) = match (counted.steals, counted.finished) {
            (0, 0) => (self.task, 1),
            (0, _) => (self.task.saturating_add(self.unit.saturating_mul(annotated)), 1),
            // It took a half of a join, which is paid for in `job_done`.
            _ => (0, 0),
        };
        // Messages of the runtime itself are sent but not spawned.
        let local = counted.started.saturating_sub(counted.remote_spawns);
        let pushes = local.saturating_mul(self.local_push);
        let sends = counted.remote_spawns.saturating_mul(self.remote_push);
        let retries = counted.retries.saturating_mul(self.retry);
        let walks = counted.walk_steps.saturating_mul(self.unit);
        [pushes, sends, retries, walks].into_iter().fold(ran, u64::saturating_add).max(least)
    }
}

/// What a worker has counted so far, or during a step.
#[derive(Clone, Copy, Default)]
pub(crate) struct StepCounts {
    pub started: u64,
    pub finished: u64,
    pub remote_spawns: u64,
    pub steals: u64,
    /// Steps of the walks of bundles.
    pub walk_steps: u64,
    /// Failed optimistic reads, and waits at latches.
    pub retries: u64,
}

impl StepCounts {
    /// Returns what was counted since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            started: self.started - before.started,
            finished: self.finished - before.finished,
            remote_spawns: self.remote_spawns - before.remote_spawns,
            steals: self.steals - before.steals,
            walk_steps: self.walk_steps - before.walk_steps,
            retries: self.retries - before.retries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        task: 1,
        unit: 10,
        local_push: 100,
        remote_push: 1_000,
        steal: 10_000,
        miss: 0,
        poll: 0,
        retry: 100_000,
        queue: 0,
    };

    #[test]
    fn a_step_costs_what_was_counted() {
        let none = StepCounts::default();
        assert_eq!(COSTS.of_step(&none, 7), 1);
        assert_eq!(COSTS.of_step(&StepCounts { finished: 1, ..none }, 7), 71);
        assert_eq!(COSTS.of_step(&StepCounts { steals: 1, started: 1, ..none }, 7), 100);
        let spawns = StepCounts { finished: 1, started: 5, remote_spawns: 2, ..none };
        assert_eq!(COSTS.of_step(&spawns, 1), 11 + 300 + 2_000);
        assert_eq!(COSTS.of_step(&StepCounts { remote_spawns: 2, ..none }, 1), 1 + 2_000);
        assert_eq!(COSTS.of_step(&StepCounts { retries: 3, ..none }, 1), 1 + 300_000);
    }

    #[test]
    fn unbounded_costs_saturate() {
        let endless = Costs { task: u64::MAX, unit: u64::MAX, ..COSTS };
        assert_eq!(endless.of_step(&StepCounts { finished: 1, ..StepCounts::default() }, 9), u64::MAX);
    }
}
