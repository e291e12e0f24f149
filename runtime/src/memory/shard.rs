//! The slots that one worker has set aside: free ones, and a run of ones that were never used.

use super::lists::ListMagazine;
use crate::sync::{AtomicUsize, Relaxed};
use core::cell::Cell;
use core::ptr::NonNull;

/// The part of one worker.
pub(super) struct Shard {
    pub magazine: ListMagazine,
    /// The first slot of a run that was never used. Meaningless when there is none.
    pub fresh: Cell<NonNull<u8>>,
    /// The number of slots in the run. Atomic only so that other threads can read it.
    pub fresh_left: AtomicUsize,
}

// SAFETY: the cells are used only by the thread that uses the shard, one at a time by the contract
// of `alloc_on` and `free_on`. Other threads read only the atomic fields.
unsafe impl Sync for Shard {}
// SAFETY: the shard owns its slots, and memory may be used by any thread.
unsafe impl Send for Shard {}

impl Shard {
    /// Creates a shard without slots, which exchanges batches of this many.
    pub fn new(batch: usize) -> Self {
        Self {
            magazine: ListMagazine::new(batch),
            fresh: Cell::new(NonNull::dangling()),
            fresh_left: AtomicUsize::new(0),
        }
    }

    /// Takes a slot that was never used, if the shard has one.
    #[inline(always)]
    pub fn bump(&self, stride: usize) -> Option<NonNull<u8>> {
        let left = self.fresh_left.load(Relaxed).checked_sub(1)?;
        let slot = self.fresh.get();
        self.fresh_left.store(left, Relaxed);
        // SAFETY: the run has at least this slot, so its end is in the region or one past it.
        self.fresh.set(unsafe { slot.byte_add(stride) });
        Some(slot)
    }
}
