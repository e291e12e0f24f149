//! An unbounded FIFO list of tasks with many pushers and one taker: one atomic exchange a push
//! (after Vyukov's intrusive queue).
//!
//! ```text
//! head (taker's) → stub or task → … → task ← tail (pushers')
//! ```
//!
//! The list always has at least one node; an inert *stub* stands in when there is no task. A push
//! has two steps:
//!
//! 1. Exchange `tail` for the new node. This is the linearization point: it decides the order.
//! 2. Store the new node into `next` of the node before.
//!
//! Between the steps the list seems to end early. The taker then returns `None` and comes back
//! later; no thread waits for another. The node before is still allocated in step 2, because the
//! taker removes a node only after its `next` was set. Before it removes the last task, the taker
//! pushes the stub. What that rules out:
//!
//! ```text
//! pusher: exchanges tail, and gets node A
//! taker:  takes A, whose next is null, and runs and frees it
//! pusher: stores into A.next                       -> use after free
//! ```
//!
//! Model: `model/inbox.rs`, `a_backlog_alone_loses_nothing_and_keeps_each_pushers_order`.

use crate::object::Fetch;
use crate::sync::{AcqRel, Acquire, AtomicPtr, Padded, Relaxed, Release, UnsafeCell};
use crate::task::{Meta, Task, VTable, describe_nothing, locate_nothing};
use alloc::boxed::Box;
use core::ptr::{NonNull, null_mut};

pub(crate) struct Backlog {
    tail: Padded<AtomicPtr<Task>>,
    head: UnsafeCell<*mut Task>,
    /// Comes from a box, and is freed as one.
    stub: NonNull<Task>,
}

// SAFETY: pushers access `tail`, and `next` of the node that they replaced. Only the taker accesses
// `head` (contract of `take`). Tasks may move between threads.
unsafe impl Send for Backlog {}
// SAFETY: pushers access `tail`, and `next` of the node that they replaced. Only the taker accesses
// `head`.
unsafe impl Sync for Backlog {}

/// The table of the stub, which is never taken and so never runs.
static STUB: VTable = VTable {
    run: |_, _| unreachable!("the stub of a list is never taken"),
    locate: locate_nothing,
    cancel: |_, _| unreachable!("the stub of a list is never taken"),
    describe: describe_nothing,
};

impl Backlog {
    pub fn new() -> Self {
        let stub = Box::leak(Box::new(Task {
            vtable: &STUB,
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
        // SAFETY: the caller owns the task, so that it is alive and not in any list.
        unsafe { task.as_ref() }.next.store(null_mut(), Relaxed);
        // Acquire pairs with the Release of the previous push: that node is initialised. Release is
        // for the next push.
        let before = self.tail.0.swap(task.as_ptr(), AcqRel);
        // Release pairs with the Acquire of `take` and `has_first`.
        let order = if planted!("backlog-published-early") { Relaxed } else { Release };
        // SAFETY: a node leaves the list only after its `next` was set, so the one before is still
        // allocated.
        unsafe { (*before).next.store(task.as_ptr(), order) };
    }

    /// Returns true if there is a first task; the taker then sees all that its pusher did before
    /// the push.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take).
    pub unsafe fn has_first(&self) -> bool {
        // SAFETY: only the taker accesses `head`, whose node is in the list: initialised and
        // allocated. Acquire pairs with the Release of `push`. A head other than the stub was
        // acquired when it became the head.
        unsafe {
            let head = self.head.with(|head| *head);
            head != self.stub() || !(*head).next.load(Acquire).is_null()
        }
    }

    /// Takes the oldest task. Returns `None` if there is none, or a push is between its two steps.
    ///
    /// # Safety
    ///
    /// Only one thread takes at a time: the inbox's worker.
    pub unsafe fn take(&self) -> Option<NonNull<Task>> {
        // SAFETY: as in `has_first`: only the taker accesses `head`, whose nodes are allocated. The
        // Acquires pair with the Release of `push`.
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
                // The last task can leave only when another node takes its place.
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
        // SAFETY: allocated by a box in `new`; no thread pushes or takes any more.
        drop(unsafe { Box::from_raw(self.stub.as_ptr()) });
    }
}
