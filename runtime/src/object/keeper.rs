//! Keeping an object alive for tasks that go on after their operation.

use super::class::{Version, Versioned};
use super::owned::Owned;
use super::reference::Cell;
use crate::sync::Relaxed;
use core::mem::offset_of;
use core::ptr::{NonNull, from_ref, with_exposed_provenance_mut};

/// Keeps a versioned object alive, as a handle does, without access to it.
///
/// A task may use an object as long as its [operation](crate::TaskBuilder::begin_operation) lasts.
/// Work that goes on for long should not be one operation, since that holds up the freeing of all
/// that is retired. It consists of several, and a keeper keeps the object from one to the next.
pub struct Keeper<T: Version> {
    owned: NonNull<Owned<Versioned<T>>>,
}

// SAFETY: a keeper is a handle without access, and handles may be sent.
unsafe impl<T: Version> Send for Keeper<T> {}

impl<T: Version> Keeper<T> {
    /// Keeps the object that has this data. Returns `None` if all handles of the object were
    /// dropped.
    ///
    /// # Safety
    ///
    /// The data is that of an [`Object`](crate::Object), not of a node in an arena or an array. The
    /// object is not freed: the caller is a task of an operation that began while there was a
    /// handle or a keeper.
    pub unsafe fn new(data: &T) -> Option<Self> {
        let offset = offset_of!(Owned<Versioned<T>>, cell)
            + offset_of!(Cell<Versioned<T>>, value)
            + offset_of!(Versioned<T>, 0);
        let address = from_ref(data).addr() - offset;
        let owned = NonNull::new(with_exposed_provenance_mut::<Owned<Versioned<T>>>(address))?;
        // SAFETY: by the contract the data is in an object, hence in an `Owned`, that is not freed.
        // The address of its cell was exposed when the handle was made.
        let owners = &unsafe { owned.as_ref() }.owners;
        // Relaxed: the count orders nothing. From 0 it does not rise again: the object is retired.
        let mut count = owners.load(Relaxed);
        while count != 0 {
            match owners.compare_exchange_weak(count, count + 1, Relaxed, Relaxed) {
                Ok(_) => return Some(Self { owned }),
                Err(now) => count = now,
            }
        }
        None
    }
}

impl<T: Version> Drop for Keeper<T> {
    fn drop(&mut self) {
        // SAFETY: this keeper is counted as an owner, and is not used again.
        unsafe { Owned::release(self.owned, 0) };
    }
}
