//! A cell that hands one thing from a worker to another.

use super::{Acquire, AtomicPtr, Relaxed, Release};
use core::ptr::{NonNull, null_mut};

/// A cell for one thing of type `T`. One thread puts the thing in, and one takes it out.
///
/// The cell only moves the thing's address, and never accesses the thing.
///
/// ```text
///          put (owner), Release            take (any thread), Acquire
///  empty ───────────────────────> full ──────────────────────────────> empty
/// ```
///
/// A take exchanges the address for null, so that only one of several succeeds. That rules out:
///
/// ```text
/// thief: reads the address
/// other: takes the thing and uses it
/// thief: uses the thing as well             -> it is used twice
/// ```
///
/// Model: `model/handoff.rs`.
pub(crate) struct HandoffCell<T>(AtomicPtr<T>);

impl<T> Default for HandoffCell<T> {
    fn default() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }
}

impl<T> HandoffCell<T> {
    /// Returns true if the cell is empty. Only a hint, except for the owner that fills it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.load(Relaxed).is_null()
    }

    /// Puts a thing in. The cell must be empty, and no other thread may put anything in.
    pub fn put(&self, thing: NonNull<T>) {
        debug_assert!(self.is_empty());
        // Release pairs with the Acquire of `take`: the taker sees the thing's contents.
        let order = if planted!("handed-on-early") { Relaxed } else { Release };
        // (An exchange: loom orders a plain store too weakly relative to the exchange of a thief
        // that found nothing.)
        self.0.swap(thing.as_ptr(), order);
    }

    /// Takes the thing, which is the caller's then.
    pub fn take(&self) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        // Acquire pairs with the Release of `put`.
        NonNull::new(self.0.swap(null_mut(), Acquire))
    }
}
