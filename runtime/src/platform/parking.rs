//! Parking a thread of the operating system until a condition holds.

use alloc::sync::Arc;
use core::task::Waker;
use std::task::Wake;
use std::thread::Thread;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Parks the calling thread until `ready` returns true. It asks again each time the waker is woken.
pub(super) fn park_until(ready: &mut dyn FnMut(&Waker) -> bool) {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    while !ready(&waker) {
        std::thread::park();
    }
}
