//! What stands before every object's value: 16 bytes in the same cache line.
//!
//! `latch` is the word of the object's primitive. `queue` serves tasks with several objects (see
//! `task::many`): it says whether one of them *holds* this sequenced object, and lists the tasks that
//! wait for it meanwhile. Only the object's home worker touches `queue`.

use crate::sync::{AtomicU64, LatchWord, Relaxed};
use crate::task::Task;
use core::ptr::NonNull;

/// The object is held by a task with several objects, or was handed to a task that waited for it.
const HELD: u64 = 1;

#[repr(C)]
pub(crate) struct Header {
    pub latch: LatchWord,
    /// `HELD`, and the last task of a circular list of those that wait (tasks are aligned to 64 bytes).
    queue: AtomicU64,
}

impl Header {
    pub const fn new() -> Self {
        Self { latch: LatchWord::new(), queue: AtomicU64::new(0) }
    }

    /// Whether tasks have to wait for somebody who holds the object. At home only.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        self.queue.load(Relaxed) != 0
    }

    /// At home only.
    pub fn hold(&self) {
        debug_assert!(!self.is_held());
        self.queue.store(HELD, Relaxed);
    }

    /// Lets go; nobody may be waiting. At home only.
    pub fn let_go(&self) {
        debug_assert_eq!(self.queue.load(Relaxed), HELD);
        self.queue.store(0, Relaxed);
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
            match NonNull::new(core::ptr::with_exposed_provenance_mut::<Task>((queue & !63) as usize)) {
                Some(last) => {
                    let first = last.as_ref().next.load(Relaxed);
                    task.as_ref().next.store(first, Relaxed);
                    last.as_ref().next.store(task.as_ptr(), Relaxed);
                }
                None => task.as_ref().next.store(task.as_ptr(), Relaxed),
            }
        }
        self.queue.store(task.as_ptr().expose_provenance() as u64 | HELD, Relaxed);
    }

    /// Takes the task that has waited longest; the object stays held.
    ///
    /// # Safety
    ///
    /// At home only.
    pub unsafe fn take_deferred(&self) -> Option<NonNull<Task>> {
        let queue = self.queue.load(Relaxed);
        let last = NonNull::new(core::ptr::with_exposed_provenance_mut::<Task>((queue & !63) as usize))?;
        // SAFETY: every task in the circular list was put there by `defer` and is owned by it.
        unsafe {
            let first = NonNull::new(last.as_ref().next.load(Relaxed))?;
            if first == last {
                self.queue.store(HELD, Relaxed);
            } else {
                last.as_ref().next.store(first.as_ref().next.load(Relaxed), Relaxed);
            }
            Some(first)
        }
    }
}
