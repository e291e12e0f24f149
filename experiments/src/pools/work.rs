//! What is done, by whomever.

use super::crew::Crew;
use super::graph::Graph;
use super::tally::{Total, done};
use crate::ycsb::plan::Wrong;
use std::sync::Arc;

/// Work to be done once.
#[derive(Clone)]
pub(super) enum Work {
    /// One task that spawns so many that do nothing but leave a trace.
    Spawner(u64),
    /// A task for each call that computing a Fibonacci number takes by the worst algorithm there is. None waits for
    /// another one: those at the bottom add up the result.
    Fib(u32),
    /// A task for each step at each tile of a matrix that is taken apart.
    Cholesky(Arc<Graph>),
}

/// A Fibonacci number, by addition.
pub(super) fn fibonacci(n: u32) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

impl Work {
    /// How many tasks it takes.
    pub(super) fn tasks(&self) -> u64 {
        match self {
            Self::Spawner(tasks) => tasks + 1,
            Self::Fib(n) => 2 * fibonacci(n + 1) - 1,
            Self::Cholesky(graph) => graph.tasks(),
        }
    }

    /// The body of the first task.
    pub(super) fn begin<C: Crew>(self, mut at: C::At<'_>) {
        match self {
            Self::Spawner(tasks) => {
                for _ in 0..tasks {
                    C::spawn(&mut at, |at| done(C::worker(&at), 1));
                }
                done(C::worker(&at), 0);
            }
            Self::Fib(n) => fib::<C>(at, n),
            Self::Cholesky(graph) => graph.begin::<C>(at),
        }
    }

    /// Checks what was left, and what was made.
    pub(super) fn check(&self, total: &Total) -> Result<(), Wrong> {
        let (tasks, sum) = match self {
            Self::Spawner(tasks) => (tasks + 1, *tasks),
            Self::Fib(n) => (self.tasks(), fibonacci(*n)),
            Self::Cholesky(graph) => (self.tasks(), graph.tasks()),
        };
        if (total.tasks, total.sum) != (tasks, sum) {
            let text =
                format!("{} tasks with a sum of {} instead of {tasks} with {sum}", total.tasks, total.sum);
            return Err(Wrong::new(text));
        }
        match self {
            Self::Cholesky(graph) => graph.check(),
            _ => Ok(()),
        }
    }
}

#[inline]
fn fib<C: Crew>(mut at: C::At<'_>, n: u32) {
    if n < 2 {
        return done(C::worker(&at), n.into());
    }
    C::spawn(&mut at, move |at| fib::<C>(at, n - 1));
    C::spawn(&mut at, move |at| fib::<C>(at, n - 2));
    done(C::worker(&at), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_tasks_as_calls() {
        fn calls(n: u32) -> u64 {
            if n < 2 { 1 } else { 1 + calls(n - 1) + calls(n - 2) }
        }
        assert!((0..20).all(|n| Work::Fib(n).tasks() == calls(n)));
        assert_eq!((fibonacci(0), fibonacci(1), fibonacci(35)), (0, 1, 9_227_465));
    }
}
