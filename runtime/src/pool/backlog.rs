//! An unbounded list of tasks: many push, one takes, first in first out, one atomic exchange a push (after Vyukov's
//! intrusive queue).
//!
//! ```text
//! head (taker's) → stub or task → … → task ← tail (pushers')
//! ```
//! The list always has one node; an inert *stub* fills in when there is no task. A pusher first makes its node the
//! tail, then links it to the one before: in between, the taker sees the list end early and comes back later. Nobody
//! waits for anybody.

use crate::object::Fetch;
use crate::scheduler::Context;
use crate::sync::{AcqRel, Acquire, AtomicPtr, Padded, Relaxed, Release, UnsafeCell};
use crate::task::{Meta, Task, VTable, describe_nothing, locate_nothing};
use alloc::boxed::Box;
use core::ptr::{NonNull, null_mut};

pub(crate) struct Backlog {
    tail: Padded<AtomicPtr<Task>>,
    head: UnsafeCell<*mut Task>,
    /// From a box, which it goes back into.
    stub: NonNull<Task>,
}

// SAFETY: pushers touch `tail` and the `next` of the node that they replaced; `head` belongs to the one taker (see
// `take`); tasks may move between threads.
unsafe impl Send for Backlog {}
// SAFETY: as above.
unsafe impl Sync for Backlog {}

unsafe fn never(_: NonNull<Task>, _: &mut Context) {
    unreachable!("the stub of a list is never taken");
}

impl Backlog {
    pub fn new() -> Self {
        let stub = Box::leak(Box::new(Task {
            vtable: &VTable { run: never, locate: locate_nothing, cancel: never, describe: describe_nothing },
            next: AtomicPtr::new(null_mut()),
            fetch: Fetch::NONE,
            meta: Meta::new(0, crate::Priority::Normal, 0),
        }));
        let stub = NonNull::from(stub);
        let node = stub.as_ptr();
        Self { tail: Padded(AtomicPtr::new(node)), head: UnsafeCell::new(node), stub }
    }

    fn stub(&self) -> *mut Task {
        self.stub.as_ptr()
    }

    /// Appends a task.
    ///
    /// # Safety
    ///
    /// The caller owns the task and gives it up.
    pub unsafe fn push(&self, task: NonNull<Task>) {
        // SAFETY: owned by the caller.
        unsafe { task.as_ref() }.next.store(null_mut(), Relaxed);
        // Acquire, with the Release of the push before: that node is initialised. Release, for the push after.
        let before = self.tail.0.swap(task.as_ptr(), AcqRel);
        // Release pairs with the Acquire of `take`.
        let order = if planted!("backlog-published-early") { Relaxed } else { Release };
        // SAFETY: a node leaves the list only after its `next` was set, so the one before is still there.
        unsafe { (*before).next.store(task.as_ptr(), order) };
    }

    /// Whether there is a first task, which the taker then sees with all that its pusher did before.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take).
    pub unsafe fn has_first(&self) -> bool {
        // SAFETY: `head` is the taker's, and its node is in the list: initialised and alive. Acquire pairs with the
        // Release of `push`; a head that is no stub was acquired when it became the head.
        unsafe {
            let head = self.head.with(|head| *head);
            head != self.stub() || !(*head).next.load(Acquire).is_null()
        }
    }

    /// Takes the oldest task. `None` if there is none, or somebody is in the middle of a push.
    ///
    /// # Safety
    ///
    /// Only one thread takes at a time: the inbox's worker.
    pub unsafe fn take(&self) -> Option<NonNull<Task>> {
        // SAFETY: as in `has_first`; the Acquires pair with the Release of `push`.
        self.head.with_mut(|head| unsafe {
            let head = &mut *head;
            let mut next = (**head).next.load(Acquire);
            if *head == self.stub() {
                if next.is_null() {
                    return None;
                }
                *head = next;
                next = (*next).next.load(Acquire);
            }
            if next.is_null() {
                if self.tail.0.load(Relaxed) != *head {
                    return None;
                }
                // The last task can only leave when something takes its place.
                self.push(self.stub);
                next = (**head).next.load(Acquire);
                if next.is_null() {
                    return None;
                }
            }
            NonNull::new(core::mem::replace(head, next))
        })
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        // SAFETY: from a box, and nobody pushes or takes any more.
        drop(unsafe { Box::from_raw(self.stub.as_ptr()) });
    }
}
