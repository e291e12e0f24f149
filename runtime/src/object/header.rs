//! The header before every object's value: 16 bytes in the same cache line.
//!
//! `latch` is the word of the object's primitive. `queue` serves tasks with several objects (see
//! `task::multi_object`). It says whether such a task *holds* this sequenced object, and lists the
//! tasks that wait for it. Only the object's home worker writes `queue`; it needs no orderings.
//!
//! ```text
//! bits 48..64  tag of the object's runtime
//! bits  6..48  the last of a circular list of waiting tasks, or 0
//! bit   0      held
//! ```
//!
//! ```text
//!          hold                  defer: a task waits
//!  free ─────────> held, empty ─────────────────────> held, with waiting tasks
//!   ^                │     ^                             │
//!   └──── let_go ────┘     └── take_deferred: the last ──┘
//! ```
//!
//! A free object has the *free word*: its runtime's tag and nothing else. Memory without an object
//! has 0, which is no runtime's. Model: `model/grant.rs`.

use super::runtime_tag::RuntimeTag;
use crate::sync::{AtomicU64, LatchState, LatchWord, LiveWord, Relaxed, Stamp};
use crate::task::{JoinError, Task};
use core::ptr::NonNull;

/// The object is held by a task with several objects, or was granted to a waiting one.
const HELD: u64 = 1;
const LAST_WAITER_MASK: u64 = 0x0000_ffff_ffff_ffc0;
const TAG_SHIFT: u32 = 48;

#[repr(C)]
pub(crate) struct Header {
    pub latch: LatchWord,
    queue: AtomicU64,
}

/// The result for a task that comes to a sequenced object at its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The task may run.
    Now,
    /// The task has to wait until the object's holder releases it.
    Later,
    /// The object belongs to another runtime, or was freed.
    Never,
}

/// The free word: the queue of an object that is not held, with its runtime's tag; and the live
/// word, which its latch has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FreeWord {
    queue: u64,
    live: LiveWord,
}

impl FreeWord {
    pub fn of(tag: &RuntimeTag) -> Self {
        Self { queue: u64::from(tag.number()) << TAG_SHIFT, live: LiveWord::of_tag(tag.number()) }
    }
}

impl Header {
    pub fn new(free_word: FreeWord) -> Self {
        Self { latch: LatchWord::new(free_word.live), queue: AtomicU64::new(free_word.queue) }
    }

    /// Begins the life of an object, in memory that was zeroed or [cleared](Self::clear). Its value
    /// must be in place: tasks may come by old links.
    pub fn revive(&self, free_word: FreeWord) {
        // Relaxed: published by the Release of the latch word, which comes second.
        self.queue.store(free_word.queue, Relaxed);
        self.latch.revive(free_word.live);
    }

    /// Makes this the header of no object. No task uses the object, and none gets into it.
    pub fn clear(&self) {
        self.latch.clear();
        self.queue.store(0, Relaxed);
    }

    /// Returns true if there is an object, or one that was marked as freed and is not dropped.
    pub fn has_object(&self) -> bool {
        self.queue.load(Relaxed) != 0
    }

    /// Begins an optimistic read by a task of the runtime with that free word. Returns `None` if a
    /// writer is inside, or the object may not be used.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn begin_read(&self, free_word: FreeWord) -> Option<Stamp> {
        self.latch.begin_read(free_word.live)
    }

    /// Returns true if the object exists and belongs to the runtime with that free word. From any
    /// thread. If the thread has a task or reader of that runtime, the object stays as long as
    /// that.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn is_of(&self, free_word: FreeWord) -> bool {
        self.latch.is_of(free_word.live)
    }

    /// Returns the error of a task of the runtime with that free word, which may not use the
    /// object; `None` if it may.
    pub fn failure(&self, free_word: FreeWord) -> Option<JoinError> {
        match self.latch.state(free_word.live) {
            LatchState::Usable => None,
            LatchState::Poisoned => Some(JoinError::Poisoned),
            LatchState::Freed => Some(JoinError::Freed),
            LatchState::Foreign => Some(JoinError::Foreign),
        }
    }

    /// Returns the error of a task that comes to an object which [is not of](Self::is_of) its
    /// runtime.
    pub fn refusal(&self) -> JoinError {
        if self.latch.is_live() { JoinError::Foreign } else { JoinError::Freed }
    }

    /// Returns whether a task of the runtime with that free word may use the object now. At home
    /// only.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn turn(&self, free_word: FreeWord) -> Turn {
        if !self.is_of(free_word) {
            Turn::Never
        } else if self.queue.load(Relaxed) == free_word.queue {
            Turn::Now
        } else {
            Turn::Later
        }
    }

    /// Marks the object as held. At home only; it must be free.
    pub fn hold(&self) {
        let queue = self.queue.load(Relaxed);
        debug_assert_eq!(queue & (HELD | LAST_WAITER_MASK), 0);
        self.queue.store(queue | HELD, Relaxed);
    }

    /// Releases the object. At home only; no task may wait for it.
    pub fn let_go(&self) {
        let queue = self.queue.load(Relaxed);
        debug_assert_eq!(queue & (HELD | LAST_WAITER_MASK), HELD);
        self.queue.store(queue & !HELD, Relaxed);
    }

    fn last(queue: u64) -> Option<NonNull<Task>> {
        NonNull::new(core::ptr::with_exposed_provenance_mut((queue & LAST_WAITER_MASK) as usize))
    }

    /// Appends a task that came while the object was held.
    ///
    /// # Safety
    ///
    /// At home only; the task is in no other list.
    pub unsafe fn defer(&self, task: NonNull<Task>) {
        let queue = self.queue.load(Relaxed);
        debug_assert!(queue & HELD != 0);
        // SAFETY: the caller owns `task`. `last` was put here by this function, and waits in this
        // list.
        unsafe {
            match Self::last(queue) {
                Some(last) => {
                    let first = last.as_ref().next.load(Relaxed);
                    task.as_ref().next.store(first, Relaxed);
                    last.as_ref().next.store(task.as_ptr(), Relaxed);
                }
                None => task.as_ref().next.store(task.as_ptr(), Relaxed),
            }
        }
        let address = task.as_ptr().expose_provenance() as u64;
        debug_assert_eq!(address & !LAST_WAITER_MASK, 0);
        self.queue.store(queue & !LAST_WAITER_MASK | address, Relaxed);
    }

    /// Removes the task that has waited longest. The object stays held.
    ///
    /// # Safety
    ///
    /// At home only.
    pub unsafe fn take_deferred(&self) -> Option<NonNull<Task>> {
        let queue = self.queue.load(Relaxed);
        let last = Self::last(queue)?;
        // SAFETY: every task in the circular list was put there by `defer`, which took it over.
        unsafe {
            let first = NonNull::new(last.as_ref().next.load(Relaxed))?;
            if first == last || planted!("deferred-tasks-lost") {
                self.queue.store(queue & !LAST_WAITER_MASK, Relaxed);
            } else {
                last.as_ref().next.store(first.as_ref().next.load(Relaxed), Relaxed);
            }
            Some(first)
        }
    }
}
