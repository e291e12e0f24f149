//! A function on every worker of a pool.

use crate::global::with_current_pool;
use crate::queues::Job;
use crate::registry::Registry;
use crate::scope::ScopeState;
use crate::spawn::detached;
use crate::worker::Worker;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// The worker that a broadcast function runs on.
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// As in rayon, bound to the call.
    marker: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    /// Calls a function with the context of the worker that runs the calling job.
    pub(crate) fn with<R>(body: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        Worker::with_current(|worker| {
            let Some(worker) = worker else { unreachable!("jobs run on workers") };
            let (index, num_threads) = (worker.index(), worker.registry().num_threads());
            body(BroadcastContext { index, num_threads, marker: PhantomData })
        })
    }

    /// Returns the index of the worker.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the number of calls: one for each worker of the pool.
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index)
            .field("num_threads", &self.num_threads)
            .finish_non_exhaustive()
    }
}

/// Calls a function on every worker of the calling thread's pool, or else of the global one, and
/// returns the results in the order of the workers.
///
/// A worker calls it when it comes to its next job, or waits.
///
/// ```
/// let indices = rayon_core::broadcast(|cx| cx.index());
/// assert!(indices.into_iter().eq(0..rayon_core::current_num_threads()));
/// ```
///
/// # Panics
///
/// Panics if a call does, after all have ended.
pub fn broadcast<R: Send>(body: impl Fn(BroadcastContext<'_>) -> R + Sync) -> Vec<R> {
    with_current_pool(|pool| broadcast_in(pool, body))
}

/// Calls a function on every worker, as [`broadcast`] does, and returns at once. A panic goes where
/// that of a [`spawn`](crate::spawn()) goes.
pub fn spawn_broadcast(body: impl Fn(BroadcastContext<'_>) + Send + Sync + 'static) {
    with_current_pool(|pool| spawn_broadcast_in(pool, body));
}

/// [`broadcast`] in a pool.
pub(crate) fn broadcast_in<R: Send>(
    pool: &Arc<Registry>,
    body: impl Fn(BroadcastContext<'_>) -> R + Sync,
) -> Vec<R> {
    let results: Vec<Mutex<Option<R>>> = (0..pool.num_threads()).map(|_| Mutex::new(None)).collect();
    let state = ScopeState::new(pool);
    let call = || {
        BroadcastContext::with(|cx| {
            let index = cx.index();
            let result = body(cx);
            *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
    };
    // SAFETY: the scope is completed here, and the jobs borrow from this frame.
    state.complete(|| pool.push_bound(|| unsafe { state.job(call) }));
    let result = |result: Mutex<Option<R>>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().filter_map(result).collect()
}

/// [`spawn_broadcast`] in a pool.
pub(crate) fn spawn_broadcast_in(
    pool: &Arc<Registry>,
    body: impl Fn(BroadcastContext<'_>) + Send + Sync + 'static,
) {
    let body = Arc::new(body);
    pool.push_bound(|| -> Job {
        let body = body.clone();
        detached(pool, move || BroadcastContext::with(|cx| body(cx)))
    });
}
