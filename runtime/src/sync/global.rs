//! What statics are made of. They outlive each execution of a model, so these are always core's
//! atomics, and no model checker sees them.

use super::{Acquire, Relaxed, Release, forks};
use core::cell::UnsafeCell;
pub use core::sync::atomic::AtomicU64;

/// The holder of a lock that is free.
const FREE: u64 = 0;

/// A value behind a spinning lock, for a static. For rare and short accesses.
///
/// A forked process may have lost the thread that held the lock. Its value is the default again
/// then: it must be one that a program can do without.
pub struct GlobalMutex<T> {
    /// [`FREE`], or one more than the number of [`forks`] in the process that has locked it.
    holder: AtomicU64,
    value: UnsafeCell<T>,
}

// SAFETY: `with` gives the value to one thread at a time, so `T: Send` is enough.
unsafe impl<T: Send> Sync for GlobalMutex<T> {}

impl<T: Default> GlobalMutex<T> {
    pub const fn new(value: T) -> Self {
        Self { holder: AtomicU64::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Calls `access` with the value. It must neither panic nor access a shimmed atomic, as a model
    /// checker would switch threads there.
    pub fn with<R>(&self, access: impl FnOnce(&mut T) -> R) -> R {
        let is_lost = self.lock();
        // SAFETY: the lock is this thread's until it is released below. A value that a lost thread
        // may have been changing is not dropped.
        let value = unsafe {
            if is_lost && !planted!("lost-value-used") {
                self.value.get().write(T::default());
            }
            &mut *self.value.get()
        };
        let result = access(value);
        // Release pairs with the Acquire of the next access.
        self.holder.store(FREE, Release);
        result
    }

    /// Takes the lock. Returns true if its holder was a thread that this process has lost.
    fn lock(&self) -> bool {
        let own = forks() + 1;
        loop {
            let holder = self.holder.load(Relaxed);
            // Acquire pairs with the Release of the access before.
            if holder != own && self.holder.compare_exchange(holder, own, Acquire, Relaxed).is_ok() {
                return holder != FREE;
            }
            core::hint::spin_loop();
            #[cfg(feature = "std")]
            std::thread::yield_now();
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_whose_holder_is_lost_begins_anew() {
        // As if a thread had held it when the process was forked.
        let mutex = GlobalMutex { holder: AtomicU64::new(forks() + 2), value: UnsafeCell::new(7) };
        mutex.with(|value| assert_eq!(core::mem::replace(value, 8), 0));
        mutex.with(|value| assert_eq!(*value, 8));
    }
}
