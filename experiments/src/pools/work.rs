//! The workloads, independent of the runtime that runs them.

use super::executor::Executor;
use super::graph::Graph;
use super::tally::{Total, done};
use crate::fib::number::fibonacci;
use std::sync::Arc;
use xtasking::platform::Costs;
use xtasking_harness::failure::Wrong;

/// A workload, for one run.
#[derive(Clone)]
pub(super) enum Work {
    /// One task that spawns a number of tasks, which only count themselves.
    Spawner(u64),
    /// A task for each call of the recursive Fibonacci function. No task waits for another: the
    /// leaves add up the result.
    Fib(u32),
    /// The same, by tasks that take a number of nanoseconds each.
    LongFib(u32, u64),
    /// A task for each step of each tile in a Cholesky factorisation.
    Cholesky(Arc<Graph>),
}

impl Work {
    /// Returns the number of tasks.
    pub(super) fn tasks(&self) -> u64 {
        match self {
            Self::Spawner(tasks) => tasks + 1,
            Self::Fib(n) | Self::LongFib(n, _) => 2 * fibonacci(n + 1) - 1,
            Self::Cholesky(graph) => graph.tasks(),
        }
    }

    /// Returns the virtual nanoseconds that the tasks' bodies take, without what the runtime adds.
    pub(super) fn modelled_time(&self, costs: &Costs) -> u64 {
        match self {
            Self::Cholesky(graph) => graph.virtual_time(),
            Self::LongFib(_, nanoseconds) => self.tasks() * nanoseconds,
            Self::Spawner(_) | Self::Fib(_) => self.tasks() * costs.unit,
        }
    }

    /// Runs the body of the first task.
    pub(super) fn begin<C: Executor>(self, mut cx: C::Cx<'_>) {
        match self {
            Self::Spawner(tasks) => {
                for _ in 0..tasks {
                    C::spawn(&mut cx, |cx| done(C::worker(&cx), 1));
                }
                done(C::worker(&cx), 0);
            }
            Self::Fib(n) => fib::<C>(cx, n),
            Self::LongFib(n, nanoseconds) => long_fib::<C>(cx, n, nanoseconds),
            Self::Cholesky(graph) => graph.begin::<C>(cx),
        }
    }

    /// Checks the counters and the result.
    ///
    /// # Errors
    ///
    /// If tasks are missing or the result is wrong.
    pub(super) fn check(&self, total: &Total) -> Result<(), Wrong> {
        let (tasks, sum) = match self {
            Self::Spawner(tasks) => (tasks + 1, *tasks),
            Self::Fib(n) | Self::LongFib(n, _) => (self.tasks(), fibonacci(*n)),
            Self::Cholesky(graph) => (self.tasks(), graph.tasks()),
        };
        if (total.tasks, total.sum) != (tasks, sum) {
            let text =
                format!("{} tasks ran, with sum {}, instead of {tasks} with {sum}", total.tasks, total.sum);
            return Err(Wrong::new(text));
        }
        match self {
            Self::Cholesky(graph) => graph.check(),
            _ => Ok(()),
        }
    }
}

#[inline]
fn fib<C: Executor>(mut cx: C::Cx<'_>, n: u32) {
    if n < 2 {
        return done(C::worker(&cx), n.into());
    }
    C::spawn(&mut cx, move |cx| fib::<C>(cx, n - 1));
    C::spawn(&mut cx, move |cx| fib::<C>(cx, n - 2));
    done(C::worker(&cx), 0);
}

fn long_fib<C: Executor>(mut cx: C::Cx<'_>, n: u32, nanoseconds: u64) {
    C::spend(&mut cx, nanoseconds);
    if n < 2 {
        return done(C::worker(&cx), n.into());
    }
    C::spawn(&mut cx, move |cx| long_fib::<C>(cx, n - 1, nanoseconds));
    C::spawn(&mut cx, move |cx| long_fib::<C>(cx, n - 2, nanoseconds));
    done(C::worker(&cx), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_match_the_calls_of_the_recursive_function() {
        fn calls(n: u32) -> u64 {
            if n < 2 { 1 } else { 1 + calls(n - 1) + calls(n - 2) }
        }
        assert!((0..20).all(|n| Work::Fib(n).tasks() == calls(n) && Work::LongFib(n, 9).tasks() == calls(n)));
    }

    #[test]
    fn the_modelled_time_is_that_of_the_bodies() {
        let costs = Costs { unit: 3, ..Costs::default() };
        assert_eq!(Work::Fib(4).modelled_time(&costs), 9 * 3);
        assert_eq!(Work::LongFib(4, 1600).modelled_time(&costs), 9 * 1600);
        // A factor, a division, a product and a factor.
        let graph = Arc::new(Graph::modelled(2, 600));
        assert_eq!(Work::Cholesky(graph).modelled_time(&costs), 100 + 300 + 600 + 100);
    }
}
