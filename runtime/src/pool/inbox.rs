//! A worker's inbox: many push, one takes, first in first out, one atomic exchange a push (after Vyukov's intrusive
//! queue).
//!
//! ```text
//! head (taker's) → stub or task → … → task ← tail (pushers')
//! ```
//! The list always has one node; an inert *stub* fills in when there is no task. A pusher first makes its node the
//! tail, then links it to the one before: in between, the taker sees the list end early (`Take::Gap`) and comes back
//! later. Nobody waits for anybody.

use crate::object::Fetch;
use crate::scheduler::Context;
use crate::sync::{Acquire, AtomicPtr, Padded, Relaxed, Release, SeqCst};
use crate::task::{Meta, Task, VTable, locate_nothing};
use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::ptr::{NonNull, null_mut};

pub(crate) struct Inbox {
    tail: Padded<AtomicPtr<Task>>,
    head: UnsafeCell<*mut Task>,
    /// From a box, which it goes back into.
    stub: NonNull<Task>,
}

// SAFETY: pushers touch `tail` and the `next` of the node that they replaced; `head` belongs to the one taker (see
// `take`); tasks may move between threads.
unsafe impl Send for Inbox {}
// SAFETY: as above.
unsafe impl Sync for Inbox {}

/// What the taker found.
pub(crate) enum Take {
    Task(NonNull<Task>),
    /// Nothing.
    Empty,
    /// Somebody is in the middle of a push.
    Gap,
}

unsafe fn never(_: NonNull<Task>, _: &mut Context) {
    unreachable!("the stub of an inbox is never taken");
}

impl Inbox {
    pub fn new() -> Self {
        let stub = Box::leak(Box::new(Task {
            vtable: &VTable { run: never, locate: locate_nothing, cancel: never },
            next: AtomicPtr::new(null_mut()),
            fetch: Fetch::NONE,
            meta: Meta::default(),
        }));
        let stub = NonNull::from(stub);
        let node = stub.as_ptr();
        Self { tail: Padded(AtomicPtr::new(node)), head: UnsafeCell::new(node), stub }
    }

    fn stub(&self) -> *mut Task {
        self.stub.as_ptr()
    }

    /// Appends a chain of tasks, linked by `next` from `first` to `last`.
    ///
    /// # Safety
    ///
    /// The caller owns the tasks and gives them up.
    #[inline]
    pub unsafe fn push_chain(&self, first: NonNull<Task>, last: NonNull<Task>) {
        // SAFETY: owned by the caller.
        unsafe { last.as_ref() }.next.store(null_mut(), Relaxed);
        // SeqCst: with the load of the sleep state that follows every push, either the pusher sees that the worker
        // goes to sleep, or the worker sees this task (`Seat::push` and `Context::sleep`). Its Acquire part pairs
        // with the Release part of the push before: that node is initialised.
        let before = self.tail.0.swap(last.as_ptr(), SeqCst);
        // SAFETY: a node leaves the list only after its `next` was set, so the one before is still there.
        // Release pairs with the Acquire of `take`.
        unsafe { (*before).next.store(first.as_ptr(), Release) };
    }

    /// Takes the oldest task.
    ///
    /// # Safety
    ///
    /// Only one thread takes at a time: the inbox's worker.
    #[inline]
    pub unsafe fn take(&self) -> Take {
        // SAFETY: `head` is the taker's, and its node is in the list: initialised and alive. The Acquires pair with
        // the Release of `push_chain`.
        unsafe {
            let head = &mut *self.head.get();
            let mut next = (**head).next.load(Acquire);
            if *head == self.stub() {
                if next.is_null() {
                    return if self.tail.0.load(Relaxed) == self.stub() { Take::Empty } else { Take::Gap };
                }
                *head = next;
                next = (*next).next.load(Acquire);
            }
            if next.is_null() {
                if self.tail.0.load(Relaxed) != *head {
                    return Take::Gap;
                }
                // The last task can only leave when something takes its place.
                self.push_chain(self.stub, self.stub);
                next = (**head).next.load(Acquire);
                if next.is_null() {
                    return Take::Gap;
                }
            }
            let task = core::mem::replace(head, next);
            Take::Task(NonNull::new_unchecked(task))
        }
    }

    /// Whether anything was pushed that the taker has not taken; exact in the total order of `SeqCst` operations. After a
    /// gap the stub may be the tail although tasks stand before it: then the head tells.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take).
    pub unsafe fn may_have_tasks(&self) -> bool {
        // SAFETY: `head` is the taker's.
        self.tail.0.load(SeqCst) != self.stub() || unsafe { *self.head.get() } != self.stub()
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // SAFETY: from a box, and nobody pushes or takes any more.
        drop(unsafe { Box::from_raw(self.stub.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn node(cost: u16) -> NonNull<Task> {
        let meta = Meta { cost, ..Meta::default() };
        let vtable = &VTable { run: never, locate: locate_nothing, cancel: never };
        let task = Task { vtable, next: AtomicPtr::new(null_mut()), fetch: Fetch::NONE, meta };
        NonNull::from(Box::leak(Box::new(task)))
    }

    /// Takes one task and frees it; its number is in `cost`.
    fn take(inbox: &Inbox) -> Option<u16> {
        // SAFETY: one thread takes; nodes come from `Box::leak`.
        unsafe {
            match inbox.take() {
                Take::Task(task) => Some(Box::from_raw(task.as_ptr()).meta.cost),
                Take::Empty | Take::Gap => None,
            }
        }
    }

    fn may_have_tasks(inbox: &Inbox) -> bool {
        // SAFETY: one thread takes.
        unsafe { inbox.may_have_tasks() }
    }

    #[test]
    fn first_in_first_out_and_empty_in_between() {
        let inbox = Inbox::new();
        assert!(!may_have_tasks(&inbox));
        for round in 0..3 {
            for number in 0..round {
                let task = node(number);
                // SAFETY: a fresh node.
                unsafe { inbox.push_chain(task, task) };
            }
            let taken: Vec<_> = core::iter::from_fn(|| take(&inbox)).collect();
            assert_eq!(taken, (0..round).collect::<Vec<_>>());
            assert!(!may_have_tasks(&inbox));
        }
    }

    #[cfg(feature = "std")]
    #[test]
    fn pushers_in_parallel_lose_nothing_and_keep_their_order() {
        const EACH: u16 = 20_000;
        let inbox = Inbox::new();
        std::thread::scope(|scope| {
            for half in 0..2 {
                let inbox = &inbox;
                scope.spawn(move || {
                    for number in 0..EACH {
                        let task = node(number * 2 + half);
                        // SAFETY: a fresh node.
                        unsafe { inbox.push_chain(task, task) };
                    }
                });
            }
            let mut next = [0; 2];
            while next != [EACH; 2] {
                if let Some(number) = take(&inbox) {
                    let half = usize::from(number % 2);
                    assert_eq!(number / 2, next[half]);
                    next[half] += 1;
                }
            }
        });
        assert!(!may_have_tasks(&inbox));
    }
}
