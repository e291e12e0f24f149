//! The calling thread as a program sees it.

use crate::global::with_current_pool;
use crate::worker::Worker;

/// Whether a worker has found something to do: see [`yield_now`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It ran a job.
    Executed,
    /// It found none.
    Idle,
}

impl Yield {
    pub(crate) fn of(ran: bool) -> Self {
        if ran { Self::Executed } else { Self::Idle }
    }
}

/// Runs a job of the calling thread's pool. Returns `None` on a thread that is no worker.
pub fn yield_now() -> Option<Yield> {
    Worker::with_current(|worker| worker.map(|worker| Yield::of(worker.run_one())))
}

/// Runs a job that this worker has spawned. Returns `None` on a thread that is no worker.
pub fn yield_local() -> Option<Yield> {
    Worker::with_current(|worker| worker.map(|worker| Yield::of(worker.pop().map(|job| job()).is_some())))
}

/// Returns the calling thread's index in its pool, or `None` if it is no worker.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Worker::with_current(|worker| worker.map(Worker::index))
}

/// Returns the number of threads in the calling thread's pool, or else in the global one.
pub fn current_num_threads() -> usize {
    with_current_pool(|pool| pool.num_threads())
}

/// Returns true if this worker has spawned jobs that have not begun, or `None` on a thread that is
/// no worker. Halves of joins do not count.
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::with_current(|worker| worker.map(|worker| worker.registry().queues.has_own(worker.index())))
}
