//! Two functions, perhaps in parallel.

use crate::global::global;
use crate::worker::Worker;
use std::marker::PhantomData;
use std::panic::resume_unwind;

/// Where a function of [`join_context`] runs.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Neither `Send` nor `Sync`, as in rayon.
    marker: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(migrated: bool) -> Self {
        Self { migrated, marker: PhantomData }
    }

    /// Returns true if the function runs on another thread than the one that passed it.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs two functions, perhaps in parallel, and returns both results.
///
/// The first runs on this thread. The second runs here afterwards, unless an idle worker takes it
/// meanwhile. On a thread that is no worker both run in the global pool.
///
/// ```
/// let (a, b) = rayon_core::join(|| 1 + 1, || 2 + 2);
/// assert_eq!((a, b), (2, 4));
/// ```
///
/// # Panics
///
/// Panics if either function does, when both have run; with the first one's payload if both
/// panicked.
#[inline]
pub fn join<RA: Send, RB: Send>(
    first: impl FnOnce() -> RA + Send,
    second: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    join_context(|_| first(), |_| second())
}

/// Runs two functions as [`join`] does. Each learns whether it runs on another thread than the
/// caller.
///
/// # Panics
///
/// Panics as [`join`] does.
#[inline]
pub fn join_context<RA: Send, RB: Send>(
    first: impl FnOnce(FnContext) -> RA + Send,
    second: impl FnOnce(FnContext) -> RB + Send,
) -> (RA, RB) {
    Worker::with_current(|worker| match worker {
        Some(worker) => join_on(worker, false, first, second),
        None => global().in_worker(|worker, migrated| join_on(worker, migrated, first, second)),
    })
}

/// Joins on a worker. `migrated` says whether the caller was sent there.
#[inline]
fn join_on<RA: Send, RB: Send>(
    worker: &Worker<'_>,
    migrated: bool,
    first: impl FnOnce(FnContext) -> RA + Send,
    second: impl FnOnce(FnContext) -> RB + Send,
) -> (RA, RB) {
    let (registry, home) = (worker.registry(), worker.index());
    let (first, second) = worker.with_fork(|fork| {
        fork.join(
            |fork| Worker::enter_and_catch(registry, fork, |_| first(FnContext::new(migrated))),
            |fork| {
                Worker::enter_and_catch(registry, fork, |worker| {
                    second(FnContext::new(migrated || worker.index() != home))
                })
            },
        )
    });
    match (first, second) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(payload), _) | (_, Err(payload)) => resume_unwind(payload),
    }
}
