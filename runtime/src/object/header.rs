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
//! A free object has the *free word*: its runtime's tag and nothing else. Model: `model/grant.rs`.

use super::runtime_tag::RuntimeTag;
use crate::sync::{AtomicU64, LatchWord, Relaxed};
use crate::task::Task;
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
    /// The object belongs to another runtime.
    Never,
}

/// The free word: the queue of an object that is not held, with its runtime's tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FreeWord(u64);

impl FreeWord {
    pub fn of(tag: &RuntimeTag) -> Self {
        Self(u64::from(tag.number()) << TAG_SHIFT)
    }
}

impl Header {
    pub fn new(free_word: FreeWord) -> Self {
        Self { latch: LatchWord::new(), queue: AtomicU64::new(free_word.0) }
    }

    /// Returns whether a task of the runtime with that free word may use the object now. At home
    /// only.
    #[inline(always)]
    pub fn turn(&self, free_word: FreeWord) -> Turn {
        let queue = self.queue.load(Relaxed);
        if queue == free_word.0 {
            Turn::Now
        } else if queue >> TAG_SHIFT == free_word.0 >> TAG_SHIFT {
            Turn::Later
        } else {
            Turn::Never
        }
    }

    /// Returns true if the object belongs to the runtime with that free word. From any thread, as
    /// this never changes.
    pub fn is_of(&self, free_word: FreeWord) -> bool {
        self.turn(free_word) != Turn::Never
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
