//! A shared box that outlives the tasks that use it.

use super::{Reclaim, Retired};
use crate::scheduler::RuntimeState;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// What is in an [`EpochBox`].
pub(crate) trait Boxed: Send + Sync + 'static {
    /// Returns the runtime whose tasks use it.
    fn shared(&self) -> &Arc<RuntimeState>;

    /// Called when no task uses it any more, before it is dropped.
    fn retire(&self) {}
}

/// A value in a box, which is retired when the last clone of this is dropped.
///
/// Tasks that were spawned before are of an epoch that keeps the value until they are over. So a
/// task needs no clone: a pointer will do.
pub(crate) struct EpochBox<T: Boxed>(Arc<Owner<T>>);

struct Owner<T: Boxed>(NonNull<T>);

// SAFETY: `Owner` only hands out `&T`, and `T` is Sync. The value may be dropped by any thread: it
// is Send.
unsafe impl<T: Boxed> Send for Owner<T> {}
// SAFETY: as for Send.
unsafe impl<T: Boxed> Sync for Owner<T> {}

impl<T: Boxed> EpochBox<T> {
    pub fn new(value: T) -> Self {
        Self(Arc::new(Owner(NonNull::from(Box::leak(Box::new(value))))))
    }

    #[inline]
    pub fn get(&self) -> &T {
        // SAFETY: freed no sooner than after the drop of the owner, which is borrowed here.
        unsafe { self.0.0.as_ref() }
    }
}

impl<T: Boxed> Clone for EpochBox<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Boxed> Drop for Owner<T> {
    fn drop(&mut self) {
        // SAFETY: `Dropper` frees it, when it was retired below.
        let shared = unsafe { self.0.as_ref() }.shared().clone();
        let epoch = if planted!("box-freed-at-once") { 0 } else { shared.epochs.retirement() };
        let owner: Arc<dyn Reclaim> = Arc::new(Dropper::<T>(PhantomData));
        shared.adopt([Retired { epoch, object: self.0.cast(), owner }].into_iter());
        shared.wake_for_garbage(0);
    }
}

/// Frees boxes of one type.
struct Dropper<T>(PhantomData<fn(T)>);

impl<T: Boxed> Reclaim for Dropper<T> {
    unsafe fn reclaim(self: Arc<Self>, value: NonNull<u8>, _: Option<usize>) {
        let value = value.cast::<T>();
        // SAFETY: as below; it is still shared until this returns.
        unsafe { value.as_ref() }.retire();
        // SAFETY: `EpochBox::new` made it from a box of this type. Its epoch is over, so no task
        // that used it is left, and the last owner was dropped before.
        drop(unsafe { Box::from_raw(value.as_ptr()) });
    }
}
