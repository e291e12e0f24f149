//! Objects on their way out.

use alloc::sync::Arc;
use core::ptr::NonNull;

/// Who can free an object.
pub(crate) trait Reclaim: Send + Sync {
    /// Frees an object, on the worker of that index or on a thread that is none.
    ///
    /// # Safety
    ///
    /// The object was retired with this owner, nothing reaches it any more, and (with a worker) the caller is that
    /// worker.
    unsafe fn reclaim(&self, object: NonNull<u8>, worker: Option<usize>);
}

/// An object that was unlinked in some epoch.
pub(crate) struct Retired {
    pub epoch: u64,
    pub object: NonNull<u8>,
    pub owner: Arc<dyn Reclaim>,
}

// SAFETY: the object belongs to whoever frees it, on any thread.
unsafe impl Send for Retired {}

impl Retired {
    /// # Safety
    ///
    /// As for [`Reclaim::reclaim`]: the epoch is settled.
    pub unsafe fn free(self, worker: Option<usize>) {
        // SAFETY: by the caller's promise.
        let reclaim = || unsafe { self.owner.reclaim(self.object, worker) };
        crate::task::quietly(reclaim);
    }
}
