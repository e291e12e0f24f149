//! Threads that the program starts, and that are waited for until they are over.

use crate::sync::{Acquire, AtomicUsize, Relaxed, Release, SpinMutex};
use alloc::sync::Arc;
use std::thread::{self, Thread};

/// Counts what the program was handed and has not given back.
///
/// A channel of the standard library would do, but part of it is compiled code, and a checker that
/// does not see how that synchronises reports races.
#[derive(Default)]
pub(in crate::platform) struct HandedOut {
    count: AtomicUsize,
    /// The thread that waits for the rest.
    waiting: SpinMutex<Option<Thread>>,
}

impl HandedOut {
    /// Counts one more.
    pub fn hand_out(self: &Arc<Self>) -> OneHandedOut {
        // Relaxed: it comes before the wait anyway, as the waiting thread handed it out.
        self.count.fetch_add(1, Relaxed);
        OneHandedOut(self.clone())
    }

    /// Waits until all are over.
    pub fn wait(&self) {
        *self.waiting.lock() = Some(thread::current());
        // Acquire pairs with the Release of those that are over. The last one looks for the waiting
        // thread after it has counted: it comes with the lock either after the line above, and
        // wakes this thread, or before it, and then this load sees its count.
        while self.count.load(Acquire) != 0 {
            thread::park();
        }
        *self.waiting.lock() = None;
    }
}

/// One that was handed out. It is over when it is dropped.
pub(in crate::platform) struct OneHandedOut(Arc<HandedOut>);

impl Drop for OneHandedOut {
    fn drop(&mut self) {
        // Release pairs with the Acquire of `wait`: what the thread did is visible there.
        if self.0.count.fetch_sub(1, Release) == 1 {
            let waiting = self.0.waiting.lock().clone();
            waiting.iter().for_each(Thread::unpark);
        }
    }
}
