//! The thread of a worker, as a program starts it that has threads of its own.

use super::threads::OneHandedOut;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// A worker that needs a thread, for a [spawn handler](super::Threads::spawn_handler).
pub struct WorkerThread {
    pub(super) worker: usize,
    pub(super) name: String,
    pub(super) stack_bytes: usize,
    pub(super) body: Box<dyn FnOnce() + Send>,
    /// Dropped when the thread has returned from the runtime, or will never call it.
    pub(super) _ends: OneHandedOut,
}

impl WorkerThread {
    /// Returns the index of the worker.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Returns the name that a thread of the runtime's own would have.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the [stack size](super::Threads::stack_size) that the thread should have, in bytes.
    pub fn stack_size(&self) -> usize {
        self.stack_bytes
    }

    /// Runs the worker on the calling thread. Returns when the runtime has stopped, or has fewer
    /// workers. The thread is free for other uses then.
    pub fn run(self) {
        (self.body)();
    }
}

impl fmt::Debug for WorkerThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThread").field("worker", &self.worker).finish_non_exhaustive()
    }
}
