//! A small lock for the runtime's own slow paths. Tasks take none on their way, except that each
//! granule of a claim has one.

use super::{Acquire, AtomicBool, Backoff, MODEL, Relaxed, Release, UnsafeCell, forks};
use core::ops::{Deref, DerefMut};

/// A spinning mutual exclusion lock that works without an operating system.
pub(crate) struct SpinMutex<T> {
    locked: AtomicBool,
    /// The lower bits of [`forks`] when it was made.
    forks: u8,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves between threads one at a time, under the lock.
unsafe impl<T: Send> Send for SpinMutex<T> {}
// SAFETY: `lock` gives the value to one thread at a time, so `T: Send` is enough.
unsafe impl<T: Send> Sync for SpinMutex<T> {}

impl<T> SpinMutex<T> {
    pub fn new(value: T) -> Self {
        Self { locked: AtomicBool::new(false), forks: forks() as u8, value: UnsafeCell::new(value) }
    }

    /// Locks the mutex.
    ///
    /// # Panics
    ///
    /// In a forked process, if a thread that it does not have holds the mutex.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        if !self.attempt() {
            self.wait_and_lock();
        }
        Guard { mutex: self }
    }

    #[inline(always)]
    fn attempt(&self) -> bool {
        // Acquire pairs with the Release of the previous guard's drop. An attempt that fails writes
        // nothing.
        self.locked.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn wait_and_lock(&self) {
        let mut backoff = Backoff::new();
        loop {
            self.wait(&mut backoff);
            // Under a model checker only an attempt is sure to see the newest value.
            if (MODEL || !self.locked.load(Relaxed)) && self.attempt() {
                return;
            }
        }
    }

    fn wait(&self, backoff: &mut Backoff) {
        let is_orphaned = backoff.is_long() && self.forks != forks() as u8;
        assert!(!is_orphaned, "a lock is held by a thread that this process lost when it was forked");
        backoff.wait();
    }

    /// Returns the value unless another thread holds the lock.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        // Acquire pairs with the Release of the previous guard's drop.
        (!self.locked.load(Relaxed) && self.attempt()).then(|| Guard { mutex: self })
    }
}

impl<T: Default> Default for SpinMutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// Unlocks the mutex when dropped.
pub(crate) struct Guard<'a, T> {
    mutex: &'a SpinMutex<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock.
        self.mutex.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock and is borrowed mutably.
        self.mutex.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // Release pairs with the Acquire of the next `lock`.
        let order = if planted!("mutex-without-release") { Relaxed } else { Release };
        self.mutex.locked.store(false, order);
    }
}

#[cfg(all(test, feature = "std", not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_whose_holder_is_lost_is_not_waited_for() {
        // As if the process had been forked since.
        let mutex = SpinMutex { forks: (forks() as u8).wrapping_sub(1), ..SpinMutex::new(7) };
        assert_eq!(*mutex.lock(), 7);
        core::mem::forget(mutex.lock());
        let locked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| *mutex.lock()));
        assert!(locked.is_err());
    }
}
