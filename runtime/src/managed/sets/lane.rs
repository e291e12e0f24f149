//! A lane: a queue of sets in the order in which they were enqueued.
//!
//! ```text
//!          head (runners')        tail (enqueuers', under the lock)
//!            |                      |
//! block 4 [ r r p p ]  block 5 [ p p . . ]      r: taken, p: pending
//! ```
//!
//! A pool has several lanes, so that threads that enqueue at the same time do not wait for one
//! another. The tail publishes a slot. A runner goes from slot to slot, and tries to take each
//! function; the head tells others where to begin. A block is allocated by the thread that enqueues
//! its first set, and freed by the one that counts its last as over.

use super::block::{Block, SLOTS, Slot};
use super::records::Records;
use crate::sync::{
    Acquire, AtomicU64, Guard, Padded, Relaxed, Release, SpinMutex, fence_after_exchange, under_model,
};
use alloc::sync::Arc;

/// Lanes of a pool.
pub(super) const LANES: usize = under_model(8, 1) as usize;

/// The right to add sets to a lane.
pub(super) type Filling<'a> = Guard<'a, Option<Arc<Block>>>;

pub(super) struct Lane {
    /// The block to which sets are added; `None` if the next set begins a new one.
    filling: SpinMutex<Option<Arc<Block>>>,
    /// The position of the next set. Written under the lock of `filling`.
    tail: AtomicU64,
    /// All requests before this position were taken.
    head: Padded<AtomicU64>,
    pub records: SpinMutex<Records>,
}

impl Lane {
    pub fn new() -> Self {
        Self {
            filling: SpinMutex::new(None),
            tail: AtomicU64::new(SLOTS),
            head: Padded(AtomicU64::new(SLOTS)),
            records: SpinMutex::new(Records::new()),
        }
    }

    /// Adds a set, whose slot `write` fills, and returns its position.
    #[inline(always)]
    pub fn push(&self, mut filling: Filling<'_>, write: impl FnOnce(&Slot)) -> u64 {
        let position = self.tail.load(Relaxed);
        let block = match &mut *filling {
            Some(block) => block,
            none => none.insert(self.records.lock().add_block(position / SLOTS)),
        };
        write(block.slot(position));
        if position % SLOTS == SLOTS - 1 {
            *filling = None;
        }
        // Release pairs with the Acquire of `end`: the slot is filled. An exchange, for
        // the fence.
        self.tail.swap(position + 1, Release);
        // Pairs with the fence of `Runners::release`: either this thread sees that a runner is
        // idle, or that runner sees the set.
        fence_after_exchange();
        position
    }

    /// Waits for the right to add a set.
    pub fn fill(&self) -> Filling<'_> {
        self.filling.lock()
    }

    /// Returns the right to add a set unless another thread is adding one.
    #[inline(always)]
    pub fn try_fill(&self) -> Option<Filling<'_>> {
        self.filling.try_lock()
    }

    /// Returns the position of the next set. The caller sees the slots before it.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        // Acquire pairs with the Release of `push`.
        self.tail.load(Acquire)
    }

    /// Returns a position before which all requests were taken.
    pub fn head(&self) -> u64 {
        self.head.0.load(Relaxed)
    }

    /// Records that all requests before a position were taken.
    #[inline(always)]
    pub fn pass(&self, position: u64) {
        // Relaxed, and no exchange: an older position from another runner is still correct. The
        // next runner that finds nothing corrects it.
        self.head.0.store(position, Relaxed);
    }

    /// Returns true if there may be requests that no runner has passed.
    #[inline(always)]
    pub fn has_more(&self) -> bool {
        self.head() < self.end()
    }
}
