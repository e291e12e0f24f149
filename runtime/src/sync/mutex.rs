//! A small lock for the runtime's own slow paths. Tasks take none on their way, except that each
//! granule of a claim has one.

use super::{Acquire, AtomicBool, Backoff, MODEL, Relaxed, Release, UnsafeCell};
use core::ops::{Deref, DerefMut};

/// A spinning mutual exclusion lock that works without an operating system.
#[derive(Default)]
pub(crate) struct SpinMutex<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves between threads one at a time, under the lock.
unsafe impl<T: Send> Send for SpinMutex<T> {}
// SAFETY: `lock` gives the value to one thread at a time, so `T: Send` is enough.
unsafe impl<T: Send> Sync for SpinMutex<T> {}

impl<T> SpinMutex<T> {
    pub fn new(value: T) -> Self {
        Self { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    pub fn lock(&self) -> Guard<'_, T> {
        let mut backoff = Backoff::new();
        // Acquire pairs with the Release of the previous guard's drop. An attempt that fails writes
        // nothing.
        while self.locked.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            backoff.wait();
            // Under a model checker only an attempt is sure to see the newest value.
            while !MODEL && self.locked.load(Relaxed) {
                backoff.wait();
            }
        }
        Guard { mutex: self }
    }

    /// Returns the value unless another thread holds the lock.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        // Acquire pairs with the Release of the previous guard's drop.
        let locks =
            !self.locked.load(Relaxed) && self.locked.compare_exchange(false, true, Acquire, Relaxed).is_ok();
        locks.then(|| Guard { mutex: self })
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
