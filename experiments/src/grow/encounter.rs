//! Whether two tasks exclude each other, seen from outside.
//!
//! One task stays in its body on one worker, until the other one had its chance on another worker:
//! a third task, which needs nothing, has run there after it. No clock is involved.

use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::thread::yield_now;

/// The flags of two tasks.
#[derive(Default)]
pub(super) struct Encounter {
    is_held: AtomicBool,
    has_passed: AtomicBool,
    is_released: AtomicBool,
}

impl Encounter {
    /// Is the body of the first task, which stays until it is [released](Self::release).
    pub fn hold(&self) {
        self.is_held.store(true, Release);
        // Acquire pairs with the Release of `release`.
        while !self.is_released.load(Acquire) {
            yield_now();
        }
    }

    /// Waits until the first task is in its body.
    pub fn wait_until_held(&self) {
        // Acquire pairs with the Release of `hold`.
        while !self.is_held.load(Acquire) {
            yield_now();
        }
    }

    /// Is the body of the second task.
    pub fn pass(&self) {
        self.has_passed.store(true, Relaxed);
    }

    /// Lets the first task end. Returns true if the second one has not passed it.
    pub fn release(&self) -> bool {
        let is_excluded = !self.has_passed.load(Relaxed);
        self.is_released.store(true, Release);
        is_excluded
    }
}
