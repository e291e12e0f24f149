//! Retired objects, which wait until they can be freed.

use crate::sync::SpinMutex;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// The owner of retired objects, which can free them.
pub(crate) trait Reclaim: Send + Sync {
    /// Frees an object, on the worker of that index, or on a thread outside the runtime.
    ///
    /// # Safety
    ///
    /// The object was retired with this owner and cannot be reached any more. If `worker` is given,
    /// the caller is that worker.
    unsafe fn reclaim(self: Arc<Self>, object: NonNull<u8>, worker: Option<usize>);

    /// Follows the freeing of some objects of this owner by a worker.
    ///
    /// # Safety
    ///
    /// The caller is the worker of that index.
    unsafe fn after_reclaim(&self, worker: usize) {
        let _ = worker;
    }
}

/// An object that was unlinked, with the epoch in which it was retired.
pub(crate) struct Retired {
    pub epoch: u64,
    pub object: NonNull<u8>,
    pub owner: Arc<dyn Reclaim>,
}

// SAFETY: the thread that frees the object owns it, and may be any thread.
unsafe impl Send for Retired {}

impl Retired {
    /// Frees the object, and returns its owner.
    ///
    /// # Safety
    ///
    /// As for [`Reclaim::reclaim`]: the epoch is settled.
    pub unsafe fn free(self, worker: Option<usize>) -> Arc<dyn Reclaim> {
        // SAFETY: this function's contract.
        let reclaim = || unsafe { self.owner.clone().reclaim(self.object, worker) };
        crate::task::quietly(reclaim);
        self.owner
    }
}

/// A value that is dropped in place of an object that is freed.
pub(crate) struct Deferred<T>(SpinMutex<Option<T>>);

impl<T: Send> Deferred<T> {
    pub fn new(value: T) -> Self {
        Self(SpinMutex::new(Some(value)))
    }
}

impl<T: Send> Reclaim for Deferred<T> {
    unsafe fn reclaim(self: Arc<Self>, _: NonNull<u8>, _: Option<usize>) {
        let value = self.0.lock().take();
        drop(value);
    }
}
