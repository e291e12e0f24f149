//! The same work as plain sequential programs, without tasks: what speed-ups are relative to.

use super::work::Work;
use crate::fib::number::fibonacci;
use crate::matrix::sequential;
use std::hint::black_box;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;

/// Measures the time of work as a plain sequential program.
///
/// # Errors
///
/// If the result is wrong, or the work is only modelled.
pub(super) fn time(work: &Work) -> Result<Duration, Wrong> {
    match work {
        Work::Spawner(tasks) => {
            let (time, sum) = timed(|| (0..*tasks).fold(0, |sum: u64, _| black_box(sum + 1)));
            check(sum, *tasks).map(|()| time)
        }
        Work::Fib(n) => {
            let (time, found) = timed(|| fib(black_box(*n)));
            check(found, fibonacci(*n)).map(|()| time)
        }
        Work::LongFib(..) => Err(only_modelled()),
        Work::Cholesky(graph) => {
            let matrix = graph.matrix().ok_or_else(only_modelled)?;
            let copy = matrix.clone();
            let (time, factor) = timed(|| sequential::factor(copy));
            factor.check(matrix).map(|()| time)
        }
    }
}

fn only_modelled() -> Wrong {
    Wrong::new("work that is only modelled has no plain program".to_string())
}

fn timed<R>(run: impl FnOnce() -> R) -> (Duration, R) {
    let began = Instant::now();
    let result = run();
    (began.elapsed(), result)
}

fn check(found: u64, expected: u64) -> Result<(), Wrong> {
    if found == expected {
        return Ok(());
    }
    Err(Wrong::new(format!("the plain program found {found} instead of {expected}")))
}

fn fib(n: u32) -> u64 {
    if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
}

#[cfg(test)]
mod tests {
    use super::super::graph::Graph;
    use super::*;
    use crate::matrix::tiles::Lower;
    use std::sync::Arc;

    #[test]
    fn every_work_runs_without_tasks_and_is_checked() {
        let graph = Graph::of(Lower::random(24, 8, 7));
        for work in [Work::Spawner(1000), Work::Fib(15), Work::Cholesky(Arc::new(graph))] {
            assert!(time(&work).is_ok());
        }
        assert!(check(7, 8).is_err());
        assert!(time(&Work::Cholesky(Arc::new(Graph::modelled(3, 1600)))).is_err());
    }
}
