//! Locks, barriers, and what is initialised once.
//!
//! | file | what is in it |
//! |---|---|
//! | `mpsc` | channels |
//! | `once` | what is done or made once |
//! | `rw_lock` | a lock that many may read |

pub mod mpsc;
mod once;
mod rw_lock;

pub use once::{LazyLock, Once, OnceLock};
pub use rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use alloc_crate::sync::{Arc, Weak};
pub use core::sync::atomic;

use crate::pause::Pause;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// A lock that was poisoned, which none is.
#[derive(Debug)]
pub struct PoisonError<T>(T);

impl<T> PoisonError<T> {
    /// Returns what the lock has.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Why a lock was not taken.
#[derive(Debug)]
pub enum TryLockError<T> {
    /// The lock is poisoned, which none is.
    Poisoned(PoisonError<T>),
    /// Another core holds it.
    WouldBlock,
}

/// A lock whose waiters look again and again.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value moves between cores one at a time, under the lock.
unsafe impl<T: Send + ?Sized> Send for Mutex<T> {}
// SAFETY: the flag gives the value to one core at a time, so `T: Send` is enough.
unsafe impl<T: Send + ?Sized> Sync for Mutex<T> {}

/// Unlocks a mutex when it is dropped.
pub struct MutexGuard<'a, T: ?Sized>(&'a Mutex<T>, PhantomData<*mut ()>);

// SAFETY: a shared guard gives what a shared value gives.
unsafe impl<T: Sync + ?Sized> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// Creates a mutex.
    pub const fn new(value: T) -> Self {
        Self { is_held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Returns the value.
    pub fn into_inner(self) -> Result<T, PoisonError<T>> {
        Ok(self.value.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub fn lock(&self) -> Result<MutexGuard<'_, T>, PoisonError<MutexGuard<'_, T>>> {
        let mut pause = Pause::default();
        loop {
            if let Ok(guard) = self.try_lock() {
                return Ok(guard);
            }
            pause.wait();
        }
    }

    /// Takes the lock unless another core has it.
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError<MutexGuard<'_, T>>> {
        // Acquire pairs with the Release of the guard before.
        match self.is_held.swap(true, Acquire) {
            true => Err(TryLockError::WouldBlock),
            false => Ok(MutexGuard(self, PhantomData)),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock and is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // Release pairs with the Acquire of `try_lock`.
        self.0.is_held.store(false, Release);
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl<T: ?Sized> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MutexGuard")
    }
}

/// A point that some threads pass together.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
}

impl Barrier {
    /// Creates a barrier for a number of threads.
    pub const fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0) }
    }

    /// Waits until all threads have come here.
    pub fn wait(&self) {
        // SeqCst: what each thread did before is seen by all after it.
        let round = self.arrived.fetch_add(1, SeqCst) / self.threads;
        Pause::until(|| self.arrived.load(SeqCst) / self.threads != round);
    }
}
