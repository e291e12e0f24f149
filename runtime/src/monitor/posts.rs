//! What runs on each worker.
//!
//! Each worker has a *post*. Before it runs a task it writes there what runs and since when;
//! afterwards it clears the post. The [watchdog](super::Watchdog) and a shutdown with a limit read
//! the posts.
//!
//! A post is only accessed under its lock, which is held only to copy a description. The
//! description names types and addresses and borrows nothing, so that it stays valid when the task
//! has ended meanwhile.

use super::{Description, Overrun};
use crate::platform::{Platform, RuntimeWait};
use crate::sync::{Padded, SpinMutex};
use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

/// What runs on a worker. Times are those of the platform's clock, in nanoseconds.
pub(crate) struct Running {
    pub(super) task: Description,
    pub(super) since: u64,
    /// The time that was reported last; 0 if none was.
    pub(super) reported: u64,
}

/// The posts of all workers.
pub(crate) struct Posts(pub(super) Box<[Padded<SpinMutex<Option<Running>>>]>);

impl Posts {
    pub fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| Padded::default()).collect())
    }

    /// Records that a worker begins to run a task.
    pub fn begin(&self, worker: usize, task: Description, now: u64) {
        *self.0[worker].0.lock() = Some(Running { task, since: now, reported: 0 });
    }

    /// Records that a worker has run its task.
    pub fn end(&self, worker: usize) {
        *self.0[worker].0.lock() = None;
    }

    /// Takes what is recorded of a worker, whose task is suspended.
    pub fn take(&self, worker: usize) -> Option<Running> {
        self.0[worker].0.lock().take()
    }

    /// Records again what was taken.
    pub fn put_back(&self, worker: usize, running: Option<Running>) {
        *self.0[worker].0.lock() = running;
    }

    /// Returns the task that runs on a worker; `None` also if its post is being written. Neither
    /// waits nor allocates memory.
    pub fn try_describe(&self, worker: usize) -> Option<Description> {
        self.0[worker].0.try_lock()?.as_ref().map(|running| running.task)
    }

    /// Returns what runs on a worker.
    pub fn running(&self, worker: usize, platform: &dyn Platform) -> Option<Overrun> {
        let now = platform.now();
        let running = self.0[worker].0.lock().as_ref().map(|running| (running.task, running.since));
        let (task, since) = running?;
        Some(task.running(worker, now.saturating_sub(since), platform.runtime_wait(worker)))
    }
}

/// A worker that is inside a task; see [`Runtime::running_tasks`](crate::Runtime::running_tasks).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningTask {
    /// Index of the worker.
    pub worker: usize,
    /// What it runs and for how long. `None` unless
    /// [`Builder::name_running`](crate::Builder::name_running) or the
    /// [watchdog](crate::Builder::watchdog) is on.
    pub details: Option<Overrun>,
}

impl fmt::Display for RunningTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.details {
            Some(details) => details.fmt(f),
            None => write!(f, "worker {} is inside a task; `Builder::name_running` names it", self.worker),
        }
    }
}

impl Description {
    /// Returns this description of a task that has been running on a worker for a time in
    /// nanoseconds.
    pub(super) fn running(self, worker: usize, nanoseconds: u64, waits: Option<RuntimeWait>) -> Overrun {
        Overrun {
            task: self.task,
            worker,
            running: Duration::from_nanos(nanoseconds),
            objects: self.objects.into_iter().flatten().collect(),
            waits,
        }
    }
}
