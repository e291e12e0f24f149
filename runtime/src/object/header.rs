//! What stands before every object's value: 16 bytes in the same cache line.
//!
//! `latch` is the word of the object's primitive. `queue` serves tasks with several objects (see
//! `task::many`): it says whether one of them *holds* this sequenced object, and lists the tasks that
//! wait for it meanwhile. Only the object's home worker touches `queue`.
//!
//! ```text
//! bits 48..64  number of the object's runtime
//! bits  6..48  address of the last task of a circular list of those that wait, or 0
//! bit   0      held
//! ```

use super::realm::Realm;
use crate::sync::{AtomicU64, LatchWord, Relaxed};
use crate::task::Task;
use core::ptr::NonNull;

/// The object is held by a task with several objects, or was handed to a task that waited for it.
const HELD: u64 = 1;
const WAITING: u64 = 0x0000_ffff_ffff_ffc0;
const REALM_SHIFT: u32 = 48;

#[repr(C)]
pub(crate) struct Header {
    pub latch: LatchWord,
    queue: AtomicU64,
}

/// What the queue of a sequenced object says to a task that comes to it at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It may run.
    Now,
    /// It has to wait for somebody who holds the object.
    Later,
    /// The object belongs to another runtime.
    Never,
}

/// The queue of an object that nobody holds, as the workers of its runtime know it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct AtRest(u64);

impl AtRest {
    pub fn of(realm: &Realm) -> Self {
        Self(u64::from(realm.number()) << REALM_SHIFT)
    }
}

impl Header {
    pub fn new(at_rest: AtRest) -> Self {
        Self { latch: LatchWord::new(), queue: AtomicU64::new(at_rest.0) }
    }

    /// Whether a task of the runtime whose objects rest like this may have the object. At home only.
    #[inline(always)]
    pub fn turn(&self, at_rest: AtRest) -> Turn {
        let queue = self.queue.load(Relaxed);
        if queue == at_rest.0 {
            Turn::Now
        } else if queue >> REALM_SHIFT == at_rest.0 >> REALM_SHIFT {
            Turn::Later
        } else {
            Turn::Never
        }
    }

    /// Whether the object belongs to the runtime whose objects rest like this. From anywhere: that never changes.
    pub fn is_of(&self, at_rest: AtRest) -> bool {
        self.turn(at_rest) != Turn::Never
    }

    /// At home only; nobody holds it.
    pub fn hold(&self) {
        let queue = self.queue.load(Relaxed);
        debug_assert_eq!(queue & (HELD | WAITING), 0);
        self.queue.store(queue | HELD, Relaxed);
    }

    /// Lets go; nobody may be waiting. At home only.
    pub fn let_go(&self) {
        let queue = self.queue.load(Relaxed);
        debug_assert_eq!(queue & (HELD | WAITING), HELD);
        self.queue.store(queue & !HELD, Relaxed);
    }

    fn last(queue: u64) -> Option<NonNull<Task>> {
        NonNull::new(core::ptr::with_exposed_provenance_mut((queue & WAITING) as usize))
    }

    /// Appends a task that came while the object was held.
    ///
    /// # Safety
    ///
    /// At home only; the task is in no other list.
    pub unsafe fn defer(&self, task: NonNull<Task>) {
        let queue = self.queue.load(Relaxed);
        debug_assert!(queue & HELD != 0);
        // SAFETY: the caller owns `task`; `last` was put here by this function and waits in this list.
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
        debug_assert_eq!(address & !WAITING, 0);
        self.queue.store(queue & !WAITING | address, Relaxed);
    }

    /// Takes the task that has waited longest; the object stays held.
    ///
    /// # Safety
    ///
    /// At home only.
    pub unsafe fn take_deferred(&self) -> Option<NonNull<Task>> {
        let queue = self.queue.load(Relaxed);
        let last = Self::last(queue)?;
        // SAFETY: every task in the circular list was put there by `defer` and is owned by it.
        unsafe {
            let first = NonNull::new(last.as_ref().next.load(Relaxed))?;
            if first == last || planted!("deferred-tasks-lost") {
                self.queue.store(queue & !WAITING, Relaxed);
            } else {
                last.as_ref().next.store(first.as_ref().next.load(Relaxed), Relaxed);
            }
            Some(first)
        }
    }
}
