//! A worker's heap for descriptors, and how it answers a shortage of memory.

use crate::memory::{CoreHeap, Heaps, SizeClass};
use crate::task::Task;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// The descriptors that a worker allocates and frees.
pub(super) struct WorkerHeap {
    heap: CoreHeap,
    /// Allocations that the quota had refused when this worker last looked.
    refused: u64,
}

impl WorkerHeap {
    pub fn new(heaps: &Arc<Heaps>, node: u16) -> Self {
        Self { heap: CoreHeap::new(heaps.clone(), node), refused: 0 }
    }

    /// Allocates a block. `None`: there is no memory left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn alloc(&mut self, class: SizeClass) -> Option<NonNull<Task>> {
        self.heap.alloc(class).map(NonNull::cast)
    }

    /// Frees a block.
    ///
    /// # Safety
    ///
    /// A heap of this runtime allocated the block in this class, and nothing uses it any more.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub unsafe fn free(&mut self, class: SizeClass, block: NonNull<Task>) {
        // SAFETY: this function's contract.
        unsafe { self.heap.free(class, block.cast()) };
    }

    /// Returns the free blocks to the node's heap if an allocation was refused since the last call:
    /// another worker may need them.
    pub fn flush_after_refusal(&mut self, heaps: &Heaps) {
        let refused = heaps.quota().refused();
        if refused != self.refused {
            self.refused = refused;
            self.heap.flush();
        }
    }

    /// Returns the free blocks to the node's heap if memory has ever been short: the worker is
    /// about to sleep, and cannot return them then.
    pub fn flush_before_sleep(&mut self) {
        if self.refused != 0 {
            self.heap.flush();
        }
    }
}
