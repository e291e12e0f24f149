//! A lock that spins: its holders are few, and hold it for some hundred instructions.
//!
//! Interrupt handlers take none, so a core cannot wait for itself.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering::*};

/// A value that one core at a time accesses.
pub(crate) struct SpinLock<T> {
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the flag gives the value to one core at a time, so `T: Send` is enough.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    pub const fn new(value: T) -> Self {
        Self { is_held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Calls `access` with the value, which must neither panic nor take this lock again.
    pub fn with<R>(&self, access: impl FnOnce(&mut T) -> R) -> R {
        // Acquire pairs with the Release of the holder before.
        while self.is_held.swap(true, Acquire) {
            while self.is_held.load(Relaxed) {
                core::hint::spin_loop();
            }
        }
        // SAFETY: the flag was false, so this core alone has the value until it stores false.
        let result = access(unsafe { &mut *self.value.get() });
        self.is_held.store(false, Release);
        result
    }

    /// As [`with`](Self::with), but gives up after `probes` probes. Returns `None` then.
    pub fn try_with<R>(&self, probes: u32, access: impl FnOnce(&mut T) -> R) -> Option<R> {
        if (0..probes).any(|_| {
            core::hint::spin_loop();
            !self.is_held.swap(true, Acquire)
        }) {
            // SAFETY: the flag was false, so this core alone has the value until it stores false.
            let result = access(unsafe { &mut *self.value.get() });
            self.is_held.store(false, Release);
            return Some(result);
        }
        None
    }
}
