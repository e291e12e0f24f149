//! XQueue's rings: each leads from one worker to another.
//!
//! A place is empty (null) or holds a task; nothing else is shared, so each end finds out what the other one has done
//! when it comes to a place, and a task that passes costs each end one load and one store. After B-Queue (Wang et al.,
//! 2013), whose rings XQueue has; with acquire and release instead of the order of one make of processors.
//!
//! A *hint* says that there may be something in a lane, so that the worker at its end need not look into all of them.
//! It may be lost when both ends set it at the same time; so now and then, and always before it falls asleep, a worker
//! looks into all.

use crate::sync::{Acquire, AtomicBool, AtomicPtr, Relaxed, Release, under_model};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::{NonNull, null_mut};

/// Tasks that a worker's lanes hold together, about.
const ALL_LANES: usize = 8192;
/// A lane has this many places at least and at most.
const FEWEST: usize = under_model(64, 2) as usize;
const MOST: usize = under_model(4096, 2) as usize;

/// A ring from one worker to another.
pub(crate) struct Lane {
    places: Box<[AtomicPtr<Task>]>,
    /// There may be something in it.
    hint: AtomicBool,
}

impl Lane {
    /// One of `lanes` that lead to the same worker.
    pub fn one_of(lanes: usize) -> Arc<Self> {
        let places = (ALL_LANES / lanes.max(1)).next_power_of_two().clamp(FEWEST, MOST);
        let places = (0..places).map(|_| AtomicPtr::new(null_mut())).collect();
        Arc::new(Self { places, hint: AtomicBool::new(false) })
    }

    /// Whether there seems to be something.
    #[inline]
    pub fn has_hint(&self) -> bool {
        self.hint.load(Relaxed)
    }

    fn place(&self, position: usize) -> &AtomicPtr<Task> {
        &self.places[position & (self.places.len() - 1)]
    }
}

/// A lane as the worker sees it that it leads from; there is one of these for each.
pub(crate) struct Entry {
    lane: Arc<Lane>,
    /// Who is at the other end.
    pub target: usize,
    position: usize,
    /// It was full, and has not been seen half empty since then.
    was_full: bool,
}

impl Entry {
    pub fn new(lane: Arc<Lane>, target: usize) -> Self {
        Self { lane, target, position: 0, was_full: false }
    }

    /// Whether there is a place for one more task. Once it was full there is none until half of it is empty: whoever fills
    /// one place after the other as they become free has each of their lines taken away by the other end at every task.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        // Relaxed: a pointer is all that is ever here, and whoever took the last one is done with the place. The next place
        // itself is always looked at: that another one is free says nothing of it where stores may be seen out of order.
        let is_free =
            |ahead: usize| self.lane.place(self.position.wrapping_add(ahead)).load(Relaxed).is_null();
        self.was_full = !(is_free(0) && (!self.was_full || is_free(self.lane.places.len() / 2 - 1)));
        !self.was_full
    }

    /// Puts a task in. `false`: there is no room.
    pub fn push(&mut self, task: NonNull<Task>) -> bool {
        if !self.has_room() {
            return false;
        }
        let place = self.lane.place(self.position);
        // Release pairs with the Acquire of `pop`.
        let order = if planted!("lane-filled-early") { Relaxed } else { Release };
        place.store(task.as_ptr(), order);
        self.position = self.position.wrapping_add(1);
        if !self.lane.hint.load(Relaxed) {
            self.lane.hint.store(true, Relaxed);
        }
        true
    }
}

/// A lane as the worker sees it that it leads to; there is one of these for each.
pub(crate) struct Exit {
    lane: Arc<Lane>,
    position: usize,
}

impl Exit {
    pub fn new(lane: Arc<Lane>) -> Self {
        Self { lane, position: 0 }
    }

    /// Whether there seems to be something.
    #[inline]
    pub fn has_hint(&self) -> bool {
        self.lane.has_hint()
    }

    /// Takes the oldest task.
    pub fn pop(&mut self) -> Option<NonNull<Task>> {
        let place = self.lane.place(self.position);
        // Acquire pairs with the Release of `push`.
        let Some(task) = NonNull::new(place.load(Acquire)) else {
            self.lane.hint.store(false, Relaxed);
            return None;
        };
        place.store(null_mut(), Relaxed);
        self.position = self.position.wrapping_add(1);
        Some(task)
    }
}
