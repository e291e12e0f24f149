//! What a worker is doing, for reports.

use super::RuntimeState;
use alloc::sync::Arc;
use core::fmt;

/// What a worker is doing, as its platform reports it when the program cannot go on: after a fault,
/// or a panic that does not unwind. See [`Driver::view`](super::Driver::view).
///
/// It displays as one line without allocating memory or waiting for a lock, so that it can be used
/// after any failure. The line names the task and its objects if
/// [`Builder::name_running`](crate::Builder::name_running) or the
/// [watchdog](crate::Builder::watchdog) is on.
#[derive(Clone)]
pub struct WorkerView {
    worker: usize,
    shared: Arc<RuntimeState>,
}

impl WorkerView {
    pub(super) fn new(worker: usize, shared: Arc<RuntimeState>) -> Self {
        Self { worker, shared }
    }

    /// Returns the index of the worker.
    pub fn worker(&self) -> usize {
        self.worker
    }
}

impl fmt::Display for WorkerView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worker = self.worker;
        let Some(posts) = &self.shared.posts else {
            return write!(f, "worker {worker}, whose tasks `Builder::name_running` would name");
        };
        // It may own the run queues of workers that do not run.
        let mut owned = (0..self.shared.slots.len()).filter(|&queue| self.shared.owner(queue) == self.worker);
        match owned.find_map(|queue| posts.try_describe(queue)) {
            Some(task) => write!(f, "worker {worker} runs task {task}"),
            None => write!(f, "worker {worker}, between two tasks"),
        }
    }
}

impl fmt::Debug for WorkerView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerView").field("worker", &self.worker).finish_non_exhaustive()
    }
}
