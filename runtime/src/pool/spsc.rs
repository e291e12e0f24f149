//! XQueue's SPSC rings: each leads from one worker to another.
//!
//! A slot is empty (null) or holds a task; nothing else is shared. Each end keeps its own position,
//! and learns what the other end has done when it comes to a slot. A task that passes costs each
//! end one load and one store. (After B-Queue, Wang et al., 2013, whose rings XQueue has; here with
//! acquire and release instead of the memory order of one architecture.)
//!
//! ```text
//!  empty ── push: store the task, Release ──> full
//!    ^                                         │
//!    └──── pop: load, Acquire; store null ─────┘
//! ```
//!
//! A *hint* says that the ring may have tasks, so that its target need not probe all its rings. The
//! two ends may write it at the same time, and lose it:
//!
//! ```text
//! source: pushes a task, sees the hint set
//! target: has found the next slot empty before, clears the hint
//! target: skips the ring, though it has a task
//! ```
//!
//! So the target probes all its rings from time to time, and always before it falls asleep. Models:
//! `model/lane.rs`.

use crate::sync::{Acquire, AtomicBool, AtomicPtr, Relaxed, Release, under_model};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::{NonNull, null_mut};

/// About how many tasks all rings that lead to one worker hold together.
const SLOTS_PER_TARGET: usize = 8192;
/// The least and the largest number of slots of a ring.
const MIN_SLOTS: usize = under_model(64, 2) as usize;
const MAX_SLOTS: usize = under_model(4096, 2) as usize;

/// An SPSC ring from one worker to another.
pub(crate) struct SpscRing {
    slots: Box<[AtomicPtr<Task>]>,
    /// Whether the ring may have tasks.
    hint: AtomicBool,
}

impl SpscRing {
    /// Creates one of `lanes` rings that lead to the same worker.
    pub fn one_of(lanes: usize) -> Arc<Self> {
        let slots = (SLOTS_PER_TARGET / lanes.max(1)).next_power_of_two().clamp(MIN_SLOTS, MAX_SLOTS);
        Self::with_slots(slots)
    }

    /// Creates a ring. The number of slots is a power of two.
    pub fn with_slots(slots: usize) -> Arc<Self> {
        let slots = (0..slots).map(|_| AtomicPtr::new(null_mut())).collect();
        Arc::new(Self { slots, hint: AtomicBool::new(false) })
    }

    /// Returns true if the ring seems to have tasks.
    #[inline]
    pub fn has_hint(&self) -> bool {
        self.hint.load(Relaxed)
    }

    fn slot(&self, position: usize) -> &AtomicPtr<Task> {
        &self.slots[position & (self.slots.len() - 1)]
    }
}

/// The source's end of a ring. There is one for each ring.
pub(crate) struct Entry {
    lane: Arc<SpscRing>,
    /// The worker at the other end.
    pub target: usize,
    position: usize,
    /// The ring was full, and has not been half empty since.
    was_full: bool,
}

impl Entry {
    pub fn new(lane: Arc<SpscRing>, target: usize) -> Self {
        Self { lane, target, position: 0, was_full: false }
    }

    /// Returns true if there is a slot for one more task. Once the ring was full, returns false
    /// until half of it is empty: filling single slots as they become free would move their cache
    /// lines back and forth at every task.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        // Relaxed: a slot is only a pointer, and the target is done with it when it is null. The
        // next slot is always read itself: with weak memory orders, a null further ahead implies
        // nothing about it.
        let is_free =
            |ahead: usize| self.lane.slot(self.position.wrapping_add(ahead)).load(Relaxed).is_null();
        let is_next_free = is_free(0) || self.was_full && planted!("lane-checked-half-way-only");
        self.was_full = !(is_next_free && (!self.was_full || is_free(self.lane.slots.len() / 2 - 1)));
        !self.was_full
    }

    /// Puts a task in. Returns false if there is no room.
    pub fn push(&mut self, task: NonNull<Task>) -> bool {
        if !self.has_room() {
            return false;
        }
        let slot = self.lane.slot(self.position);
        debug_assert!(slot.load(Relaxed).is_null(), "the target is done with the slot");
        // Release pairs with the Acquire of `pop`.
        let order = if planted!("lane-filled-early") { Relaxed } else { Release };
        slot.store(task.as_ptr(), order);
        self.position = self.position.wrapping_add(1);
        if !self.lane.hint.load(Relaxed) {
            self.lane.hint.store(true, Relaxed);
        }
        true
    }
}

/// The target's end of a ring. There is one for each ring.
pub(crate) struct Exit {
    lane: Arc<SpscRing>,
    position: usize,
}

impl Exit {
    pub fn new(lane: Arc<SpscRing>) -> Self {
        Self { lane, position: 0 }
    }

    /// Returns true if the ring seems to have tasks.
    #[inline]
    pub fn has_hint(&self) -> bool {
        self.lane.has_hint()
    }

    /// Takes the oldest task.
    pub fn pop(&mut self) -> Option<NonNull<Task>> {
        let slot = self.lane.slot(self.position);
        // Acquire pairs with the Release of `push`.
        let Some(task) = NonNull::new(slot.load(Acquire)) else {
            self.lane.hint.store(false, Relaxed);
            return None;
        };
        slot.store(null_mut(), Relaxed);
        self.position = self.position.wrapping_add(1);
        Some(task)
    }
}
