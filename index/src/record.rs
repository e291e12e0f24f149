//! Values on the heap that never change, and words that point to them.
//!
//! A word of a node holds the pointer. A reader follows it within its operation, and the writer
//! that replaces the word passes the old record to
//! [`Context::drop_later`](xtasking::Context::drop_later). So no reader follows the pointer to a
//! record that was freed.

use core::marker::PhantomData;
use core::ptr;

/// The owner of a record; drops it.
pub(crate) struct Record<T> {
    word: u64,
    owned: PhantomData<T>,
}

impl<T> Record<T> {
    /// Moves a value to the heap.
    pub fn new(value: T) -> Self {
        let word = Box::into_raw(Box::new(value)).expose_provenance() as u64;
        Self { word, owned: PhantomData }
    }

    /// Returns the word that points to the record and now owns it. It is never 0.
    pub fn into_word(self) -> u64 {
        core::mem::ManuallyDrop::new(self).word
    }

    /// Returns the value.
    pub fn into_value(self) -> T {
        let word = self.into_word();
        // SAFETY: the pointer came from a box, and this was the only owner of it.
        *unsafe { Box::from_raw(ptr::with_exposed_provenance_mut(word as usize)) }
    }

    /// Takes the record back.
    ///
    /// # Safety
    ///
    /// The word came from [`into_word`](Self::into_word) for a record of this type, and no other
    /// owner was made of it. Until the owner is dropped, others may still read the record.
    pub unsafe fn from_word(word: u64) -> Self {
        Self { word, owned: PhantomData }
    }

    /// Returns the record that a word points to.
    ///
    /// # Safety
    ///
    /// The word came from [`into_word`](Self::into_word) for a record of this type. No owner of it
    /// is dropped within `'a`, and its value was published to this thread.
    pub unsafe fn follow<'a>(word: u64) -> &'a T {
        // SAFETY: this function's contract. A record is never changed.
        unsafe { &*ptr::with_exposed_provenance(word as usize) }
    }
}

impl<T> Drop for Record<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box, and this is the only owner of it. The contracts of
        // `from_word` and `follow` exclude readers.
        drop(unsafe { Box::<T>::from_raw(ptr::with_exposed_provenance_mut(self.word as usize)) });
    }
}

// SAFETY: the owner has the value, which the thread that drops it may be sent.
unsafe impl<T: Send> Send for Record<T> {}
