//! Parking a thread of the operating system until a condition holds.

use alloc::sync::Arc;
use core::task::Waker;
use core::time::Duration;
use std::task::Wake;
use std::thread::Thread;

struct Unpark(Thread);

impl Unpark {
    /// Returns a waker for the calling thread.
    fn current() -> Waker {
        Waker::from(Arc::new(Self(std::thread::current())))
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Parks the calling thread until `ready` returns true. It asks again each time the waker is woken.
pub(super) fn park_until(ready: &mut dyn FnMut(&Waker) -> bool) {
    let waker = Unpark::current();
    while !ready(&waker) {
        std::thread::park();
    }
}

/// As [`park_until`], but at most until a time in nanoseconds, as `now` reads it. Returns false if
/// that came first.
pub(super) fn park_until_time(
    until: u64,
    now: impl Fn() -> u64,
    ready: &mut dyn FnMut(&Waker) -> bool,
) -> bool {
    let waker = Unpark::current();
    while !ready(&waker) {
        let left = until.saturating_sub(now());
        if left == 0 {
            return false;
        }
        // May return early.
        std::thread::park_timeout(Duration::from_nanos(left));
    }
    true
}
