//! Words of a versioned object.
//!
//! Whatever changes in a versioned object after its publication is a [`Word`]: readers may look at it while a
//! writer changes it, so both sides use atomic accesses, and only a task that holds the object for writing has
//! the [`WriteToken`] without which a word cannot be set. Ordering is the version's business, never the word's.

use crate::sync::{AtomicU64, Relaxed};
use core::marker::PhantomData;

/// Proof that the running task holds a versioned object for writing.
///
/// The runtime makes one for the span of a write; application code cannot.
pub struct WriteToken<'a>(PhantomData<&'a mut ()>);

impl WriteToken<'_> {
    /// A token for code that keeps writers apart by its own means.
    ///
    /// # Safety
    ///
    /// For as long as the token lives nobody else may write the words that are set with it, and optimistic
    /// readers of these words must be able to tell that they were changed.
    pub const unsafe fn assume() -> Self {
        Self(PhantomData)
    }
}

/// A 64-bit word of a versioned object: read by anybody at any time, set by its writer alone.
#[derive(Default)]
#[repr(transparent)]
pub struct Word(AtomicU64);

impl Word {
    /// A word of an object that is not published yet.
    #[cfg(not(model = "loom"))]
    pub const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// A word of an object that is not published yet; loom makes its atomics at run time.
    #[cfg(model = "loom")]
    pub fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// The word's value; beside a writer it may be older or newer than its neighbours.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Sets the word as the writer of the object that it lies in. The token of another object would do for the compiler,
    /// and the word would be whole, but optimistic readers would not notice that it has changed.
    #[inline(always)]
    pub fn set(&self, value: u64, _: &WriteToken<'_>) {
        self.0.store(value, Relaxed);
    }
}
