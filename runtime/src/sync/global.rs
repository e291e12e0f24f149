//! What statics are made of. They outlive each execution of a model, so these are always core's
//! atomics, and no model checker sees them.

use super::{Acquire, Relaxed, Release};
use core::cell::UnsafeCell;
use core::sync::atomic::AtomicBool;
pub use core::sync::atomic::AtomicU64;

/// A value behind a spinning lock, for a static. For rare and short accesses.
pub struct GlobalMutex<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `with` gives the value to one thread at a time, so `T: Send` is enough.
unsafe impl<T: Send> Sync for GlobalMutex<T> {}

impl<T> GlobalMutex<T> {
    pub const fn new(value: T) -> Self {
        Self { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Calls `access` with the value. It must neither panic nor access a shimmed atomic, as a model
    /// checker would switch threads there.
    pub fn with<R>(&self, access: impl FnOnce(&mut T) -> R) -> R {
        // Acquire pairs with the Release below, of the access before.
        while self.locked.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            core::hint::spin_loop();
            #[cfg(feature = "std")]
            std::thread::yield_now();
        }
        // SAFETY: the lock is this thread's until it is released below.
        let result = access(unsafe { &mut *self.value.get() });
        // Release pairs with the Acquire of the next access.
        self.locked.store(false, Release);
        result
    }
}
