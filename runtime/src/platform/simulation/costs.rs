//! What things take on virtual cores.

use crate::scheduler::Tally;

/// How many virtual nanoseconds things take on a core of a [`Simulation`](super::Simulation).
///
/// A core that runs a task pays `task`, and `unit` for its body, times the cost that the task is annotated with
/// ([`TaskBuilder::cost`](crate::TaskBuilder::cost)), and what its body says by itself that it takes
/// ([`Clocks::spend`](super::Clocks::spend)); then for each task that it has spawned, at home or to another core. A
/// task that does not come to its end in a step, as it has to wait for an object or has to read again, pays only `task`
/// for that step. Whatever runs takes at least 1 ns.
///
/// The default is roughly a core of 3 GHz whose lines come from a cache that all cores share. It is a model, so what it
/// says of a machine is as good as the numbers that were put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Taking a task from the pool and giving back its descriptor, without its body.
    pub task: u64,
    /// The body of a small task: one that is annotated with a cost of 1, or with none.
    pub unit: u64,
    /// Spawning a task that stays on its core.
    pub local_push: u64,
    /// Sending a task to another core.
    pub remote_push: u64,
    /// Taking a half of a join from another core.
    pub steal: u64,
    /// Looking at what all others offer, in vain. Does so who has just run out of tasks.
    pub miss: u64,
    /// The time from one look of an idle core for something to do to the next one. It sees what has come to it at a look.
    pub look: u64,
    /// A failed optimistic read, or a wait at a latch.
    pub retry: u64,
    /// Putting a task into the queue that all cores share ([`Pool::Ranked`](crate::Pool::Ranked)), or taking one out of it,
    /// besides `local_push` and `task`. For so long it is locked, and other cores that come meanwhile wait, busily; where the
    /// order is [relaxed](crate::Ranking::Relaxed) each heap has a lock of its own.
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
            look: 20,
            retry: 20,
            queue: 100,
        }
    }
}

impl Costs {
    /// What it takes until one that has run out of tasks looks again.
    pub(super) fn fall_idle(&self) -> u64 {
        self.look.saturating_add(self.miss)
    }

    /// What a step has taken in which a core ran something, besides what the body said by itself: by what the worker has
    /// counted since, and the annotation of the task that it ran.
    pub(crate) fn of_step(&self, counted: &Tally, annotated: u64) -> u64 {
        let (ran, least) = match (counted.steals, counted.finished) {
            (0, 0) => (self.task, 1),
            (0, _) => (self.task.saturating_add(self.unit.saturating_mul(annotated)), 1),
            // It took a half of a join, for which it has paid already.
            _ => (0, 0),
        };
        // Messages of the runtime's own are sent, but not spawned.
        let local = counted.started.saturating_sub(counted.remote_spawns);
        let pushes = local.saturating_mul(self.local_push);
        let sends = counted.remote_spawns.saturating_mul(self.remote_push);
        let retries = counted.retries.saturating_mul(self.retry);
        ran.saturating_add(pushes).saturating_add(sends).saturating_add(retries).max(least)
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
        look: 0,
        retry: 100_000,
        queue: 0,
    };

    #[test]
    fn a_step_costs_what_was_counted() {
        let none = Tally::default();
        assert_eq!(COSTS.of_step(&none, 7), 1);
        assert_eq!(COSTS.of_step(&Tally { finished: 1, ..none }, 7), 71);
        assert_eq!(COSTS.of_step(&Tally { steals: 1, started: 1, ..none }, 7), 100);
        let spawns = Tally { finished: 1, started: 5, remote_spawns: 2, ..none };
        assert_eq!(COSTS.of_step(&spawns, 1), 11 + 300 + 2_000);
        assert_eq!(COSTS.of_step(&Tally { remote_spawns: 2, ..none }, 1), 1 + 2_000);
        assert_eq!(COSTS.of_step(&Tally { retries: 3, ..none }, 1), 1 + 300_000);
    }

    #[test]
    fn costs_without_bound_are_no_fault() {
        let endless = Costs { task: u64::MAX, unit: u64::MAX, ..COSTS };
        assert_eq!(endless.of_step(&Tally { finished: 1, ..Tally::default() }, 9), u64::MAX);
    }
}
