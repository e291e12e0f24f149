//! One thread waits for one event.

use std::sync::atomic::{
    AtomicU8,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread::Thread;

/// An event for which the thread waits that has made the latch.
pub(crate) struct Latch {
    state: AtomicU8,
    waiter: Thread,
}

const UNSET: u8 = 0;
/// The waiter parks, or is about to.
const ASLEEP: u8 = 1;
const SET: u8 = 2;

impl Latch {
    pub fn new() -> Self {
        Self { state: AtomicU8::new(UNSET), waiter: std::thread::current() }
    }

    /// Returns true if the event has come.
    pub fn is_set(&self) -> bool {
        // Acquire pairs with the Release of `set`: the waiter sees what led to the event.
        self.state.load(Acquire) == SET
    }

    /// Announces that the waiter will park. Returns false if the event has come.
    pub fn fall_asleep(&self) -> bool {
        self.state.compare_exchange(UNSET, ASLEEP, Relaxed, Relaxed) != Err(SET)
    }

    /// Reports the event.
    ///
    /// # Safety
    ///
    /// The latch exists, and is set once. It may be gone when this returns: the waiter goes on.
    pub unsafe fn set(latch: *const Self) {
        // SAFETY: the waiter does not drop the latch before it is set. No reference is held longer.
        unsafe {
            // Release pairs with the Acquire of `is_set`.
            if (*latch).state.compare_exchange(UNSET, SET, Release, Relaxed).is_err() {
                let waiter = (*latch).waiter.clone();
                (*latch).state.store(SET, Release);
                waiter.unpark();
            }
        }
    }

    /// Waits on a thread that is no worker.
    pub fn wait(&self) {
        while !self.is_set() {
            if self.fall_asleep() {
                std::thread::park();
            }
        }
    }
}
