//! Retired objects, which wait until they can be freed.

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
    unsafe fn reclaim(&self, object: NonNull<u8>, worker: Option<usize>);
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
    /// # Safety
    ///
    /// As for [`Reclaim::reclaim`]: the epoch is settled.
    pub unsafe fn free(self, worker: Option<usize>) {
        // SAFETY: this function's contract.
        let reclaim = || unsafe { self.owner.reclaim(self.object, worker) };
        crate::task::quietly(reclaim);
    }
}
