//! The workers that run now, and the watchers that look at them.
//!
//! A runtime that was left ends without a thread that joins its watchers: the last worker stops
//! them. Otherwise a watcher would keep the memory of the runtime until its next look.

use crate::sync::{Acquire, AtomicBool, AtomicUsize, Relaxed, Release, SeqCst, SpinMutex};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use std::thread::Thread;

/// Counts the workers that run, and stops their watchers.
#[derive(Default)]
pub(super) struct RunningWorkers {
    count: AtomicUsize,
    /// The runtime was left: the last worker stops the watchers.
    is_left: AtomicBool,
    watchers_stopped: AtomicBool,
    watchers: SpinMutex<Vec<Thread>>,
}

impl RunningWorkers {
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Registers the thread of a watcher, to be woken when it is to return.
    pub fn add_watcher(&self, thread: Thread) {
        self.watchers.lock().push(thread);
    }

    /// Returns false if watchers are to return.
    pub fn is_watched(&self) -> bool {
        // Acquire pairs with the Release of `stop_watchers`. A watcher that was registered too late
        // to be woken sees this by the lock.
        !self.watchers_stopped.load(Acquire)
    }

    pub fn stop_watchers(&self) {
        self.watchers_stopped.store(true, Release);
        // Taken out first: a wake-up enters the kernel, and the lock spins.
        let watchers = mem::take(&mut *self.watchers.lock());
        watchers.iter().for_each(Thread::unpark);
    }

    /// Records that the workers end by themselves.
    pub fn leave(&self) {
        // SeqCst pairs with `Running::drop`: either this thread sees that no worker is left, or
        // the last worker sees that the runtime was left.
        self.is_left.store(true, SeqCst);
        if self.count.load(SeqCst) == 0 {
            self.stop_watchers();
        }
    }
}

/// Counts a worker as running while it exists.
pub(super) struct Running(Arc<RunningWorkers>);

impl Running {
    pub fn new(running: &Arc<RunningWorkers>) -> Self {
        running.count.fetch_add(1, Relaxed);
        Self(running.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SeqCst pairs with `RunningWorkers::leave`.
        let was_last = self.0.count.fetch_sub(1, SeqCst) == 1;
        if was_last && self.0.is_left.load(SeqCst) {
            self.0.stop_watchers();
        }
    }
}
