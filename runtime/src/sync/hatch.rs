//! Where something passes from one worker to another.

use super::{Acquire, AtomicPtr, Relaxed, Release};
use core::ptr::{NonNull, null_mut};

/// A place for one thing of type `T`. Its owner puts it in, and either another one takes it, or the owner takes it back.
///
/// It knows the thing by its address alone, and does nothing with it.
pub(crate) struct Hatch<T>(AtomicPtr<T>);

impl<T> Default for Hatch<T> {
    fn default() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }
}

impl<T> Hatch<T> {
    /// Whether nothing is here; only a hint to all but the one who puts jobs in.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.load(Relaxed).is_null()
    }

    /// Puts a thing in. Nothing is here, and nobody else puts anything in.
    pub fn put(&self, thing: NonNull<T>) {
        debug_assert!(self.is_empty());
        // Release pairs with the Acquire of `take`: who takes the thing sees what it is.
        let order = if planted!("job-offered-early") { Relaxed } else { Release };
        // (An exchange, as loom orders a mere store too little beside the exchange of a thief who found nothing.)
        self.0.swap(thing.as_ptr(), order);
    }

    /// Takes what is here: it is the caller's.
    pub fn take(&self) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        // Acquire pairs with the Release of `put`.
        NonNull::new(self.0.swap(null_mut(), Acquire))
    }

    /// Takes back a thing that the caller had put in; `false` if somebody else took it.
    pub fn take_back(&self, thing: NonNull<T>) -> bool {
        // A thing that is still here was seen by nobody, so there is nothing to be ordered after.
        self.0.compare_exchange(thing.as_ptr(), null_mut(), Relaxed, Relaxed).is_ok()
            || planted!("job-taken-twice")
    }
}
