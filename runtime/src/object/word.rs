//! Words of a versioned object.
//!
//! Everything that changes in a versioned object after its publication is a [`Word`]. Readers may
//! read it while a writer changes it, so both sides use atomic accesses. Setting a word takes a
//! [`WriteToken`], which only a task that holds the object for writing has. A word orders nothing,
//! except where it is asked to; the version does.

use crate::sync::{Acquire, AtomicU64, Relaxed, Release};
use core::marker::PhantomData;

/// Proof that the running task holds a versioned object for writing.
///
/// The runtime makes one for the span of a write; application code cannot.
pub struct WriteToken<'a>(PhantomData<&'a mut ()>);

impl WriteToken<'_> {
    /// Makes a token for code that keeps writers apart by its own means.
    ///
    /// # Safety
    ///
    /// While the token exists, no other thread writes the words that are set with it. Optimistic
    /// readers of these words can detect that they have changed.
    pub const unsafe fn assume() -> Self {
        Self(PhantomData)
    }
}

/// A 64-bit word of a versioned object. Any thread may read it at any time; only its writer sets
/// it.
///
/// In memory it is an `AtomicU64`, unless a model checker stands in for the atomics.
#[derive(Default)]
#[repr(transparent)]
pub struct Word(AtomicU64);

impl Word {
    /// Creates a word of an object that is not published yet.
    #[cfg(not(model = "loom"))]
    pub const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// Creates a word of an object that is not published yet; loom makes its atomics at run time.
    #[cfg(model = "loom")]
    pub fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// Returns the word's value. Beside a writer it may be older or newer than its neighbours.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Sets the word, as the writer of its object. The compiler would accept the token of another
    /// object: the word would be whole, but optimistic readers would not notice the change.
    #[inline(always)]
    pub fn set(&self, value: u64, _: &WriteToken<'_>) {
        self.0.store(value, Relaxed);
    }

    /// Returns the word's value, with all that was written before
    /// [`set_release`](Self::set_release) stored it: also beside a writer. It is for words that
    /// say where something else is, which a reader reads before its version is checked.
    #[inline(always)]
    pub fn get_acquire(&self) -> u64 {
        // Acquire pairs with the Release of `set_release`.
        self.0.load(Acquire)
    }

    /// Sets the word as [`set`](Self::set) does, and publishes all that was written before to
    /// readers that [`get_acquire`](Self::get_acquire) it.
    #[inline(always)]
    pub fn set_release(&self, value: u64, _: &WriteToken<'_>) {
        // Release pairs with the Acquire of `get_acquire`.
        self.0.store(value, Release);
    }
}
