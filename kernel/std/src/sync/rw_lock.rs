//! A lock that many may read.

use super::PoisonError;
use crate::pause::Pause;
use core::cell::UnsafeCell;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering::*};

/// The state of a lock that is written.
const WRITTEN: u32 = u32::MAX;

/// A lock that many may read, or one may write. Its waiters look again and again.
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    /// How many read, or [`WRITTEN`].
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves between cores under the lock.
unsafe impl<T: Send + ?Sized> Send for RwLock<T> {}
// SAFETY: the state gives the value to one core that writes, or to several that read.
unsafe impl<T: Send + Sync + ?Sized> Sync for RwLock<T> {}

/// Ends a reading when it is dropped.
pub struct RwLockReadGuard<'a, T: ?Sized>(&'a RwLock<T>);

/// Ends a writing when it is dropped.
pub struct RwLockWriteGuard<'a, T: ?Sized>(&'a RwLock<T>);

impl<T> RwLock<T> {
    /// Creates a lock.
    pub const fn new(value: T) -> Self {
        Self { state: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nothing writes.
    pub fn read(&self) -> Result<RwLockReadGuard<'_, T>, PoisonError<RwLockReadGuard<'_, T>>> {
        let one_more = |state| if state < WRITTEN - 1 { Some(state + 1) } else { None };
        // Acquire pairs with the Release of the writing before.
        Pause::until(|| self.state.try_update(Acquire, Relaxed, one_more).is_ok());
        Ok(RwLockReadGuard(self))
    }

    /// Waits until nothing reads or writes.
    pub fn write(&self) -> Result<RwLockWriteGuard<'_, T>, PoisonError<RwLockWriteGuard<'_, T>>> {
        // Acquire pairs with the Release of those before.
        Pause::until(|| self.state.compare_exchange(0, WRITTEN, Acquire, Relaxed).is_ok());
        Ok(RwLockWriteGuard(self))
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: while this guard counts, nothing writes.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard alone has the value.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard alone has the value, and is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        // Release pairs with the Acquire of the next writing.
        self.0.state.fetch_sub(1, Release);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        // Release pairs with the Acquire of those that come next.
        self.0.state.store(0, Release);
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RwLock")
    }
}
