//! The waker of a thread that waits outside the runtime.

use alloc::sync::Arc;
use core::task::Waker;
use std::task::Wake;
use std::thread::Thread;

/// Wakes a thread that waits for a task.
pub(super) struct Unpark(Thread);

impl Unpark {
    /// Returns a waker for the calling thread.
    pub fn current() -> Waker {
        Waker::from(Arc::new(Self(std::thread::current())))
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
