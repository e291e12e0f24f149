//! A worker's tasks where other workers may steal them: a growing ring.
//!
//! ```text
//!        head                      tail
//!          |                         |
//!  … old   | oldest  …  youngest     |  old …
//!            thieves take here         the owner pushes and pops here
//! ```
//!
//! The owner pushes and pops without an atomic read-modify-write. Thieves take several tasks at a
//! time, under a lock. Owner and thief must not both take the last task:
//!
//! ```text
//! owner: moves the tail down, reads the head, takes the task
//! thief: moves the head up, reads the old tail, takes the task        -> it is taken twice
//! ```
//!
//! So the owner passes a light fence between its write of the tail and its read of the head, and
//! the thief a barrier between its write of the head and its read of the tail: at least one sees
//! what the other wrote. The thief gives back what the owner has taken; the owner that sees the
//! head at its task takes the lock, and looks again. Without a barrier both pass a full fence. (The
//! protocol is "THE" of Frigo, Leiserson and Randall, "The Implementation of the Cilk-5
//! Multithreaded Language", 1998, section 5.) Model: `model/task_ring.rs`.

use crate::sync::{
    Acquire, AtomicPtr, AtomicUsize, Padded, Relaxed, Release, SeqCst, SpinMutex, UnsafeCell, fence,
    light_fence, under_model,
};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::replace;
use core::ptr::{NonNull, null_mut};

/// Slots at first.
const INITIAL_SLOTS: usize = under_model(256, 4) as usize;
/// The most tasks that are stolen at once: enough to be worth the transfer, few enough to be shared
/// again. As many slots stay vacant: a thief reads its tasks after it has moved the head.
pub(super) const MAX_STOLEN: usize = under_model(32, 2) as usize;
/// Where head and tail begin: far from 0, as the owner may put tasks before the oldest.
const ORIGIN: usize = 1 << (usize::BITS - 2);

/// The positions of a ring grow; the slot of one is its remainder.
pub(crate) struct TaskRing {
    /// The position of the oldest task. Written with the lock; while a thief steals it may be
    /// higher than it will be.
    head: Padded<AtomicUsize>,
    /// The position of the next push. Written by the owner.
    tail: Padded<AtomicUsize>,
    lock: SpinMutex<()>,
    /// A power of two of them. Replaced by the owner, with the lock.
    slots: UnsafeCell<Box<[AtomicPtr<Task>]>>,
    has_barrier: bool,
}

// SAFETY: `slots` is replaced by the owner with the lock; the owner, and threads with the lock,
// read it.
unsafe impl Send for TaskRing {}
// SAFETY: `slots` is replaced by the owner with the lock; the owner, and threads with the lock,
// read it.
unsafe impl Sync for TaskRing {}

impl TaskRing {
    /// Makes an empty ring. `has_barrier`: thieves pass one.
    pub fn new(has_barrier: bool) -> Self {
        Self {
            head: Padded(AtomicUsize::new(ORIGIN)),
            tail: Padded(AtomicUsize::new(ORIGIN)),
            lock: SpinMutex::new(()),
            slots: UnsafeCell::new(vacant(INITIAL_SLOTS)),
            has_barrier,
        }
    }

    /// Returns the number of tasks; exact for the owner while no thief steals, else a hint.
    #[inline]
    pub fn len(&self) -> usize {
        let (tail, head) = (self.tail.0.load(Relaxed), self.head.0.load(Relaxed));
        // The head of a thief may be beyond the tail.
        tail.saturating_sub(head)
    }

    /// Returns the number of slots. For the owner and threads with the lock.
    #[inline]
    fn capacity(&self) -> usize {
        // SAFETY: only replaced by the owner with the lock, which is this thread or waits for it.
        self.slots.with(|slots| unsafe { (&*slots).len() })
    }

    /// Returns the slot of a position. For the owner and threads with the lock.
    #[inline]
    fn slot(&self, position: usize) -> &AtomicPtr<Task> {
        // SAFETY: only replaced by the owner with the lock, which is this thread or waits for it.
        let slots = self.slots.with(|slots| unsafe { &**slots });
        &slots[position & (slots.len() - 1)]
    }

    /// Reads a task. For the owner and threads with the lock.
    #[inline]
    fn task_at(&self, position: usize) -> NonNull<Task> {
        let task = NonNull::new(self.slot(position).load(Relaxed));
        task.unwrap_or_else(|| unreachable!("a position between head and tail has a task"))
    }

    /// For the owner: pushes a task as the youngest.
    #[inline]
    pub fn push(&self, task: NonNull<Task>) {
        let tail = self.tail.0.load(Relaxed);
        if self.len() + MAX_STOLEN >= self.capacity() {
            self.grow(1);
        }
        self.slot(tail).store(task.as_ptr(), Relaxed);
        // Release pairs with the Acquire of `steal`: a thief sees the task.
        let order = if planted!("task-pushed-early") { Relaxed } else { Release };
        self.tail.0.store(tail + 1, order);
    }

    /// For the owner: makes room for `more` tasks.
    #[cold]
    fn grow(&self, more: usize) {
        let _guard = self.lock.lock();
        let (head, tail) = (self.head.0.load(Relaxed), self.tail.0.load(Relaxed));
        let needed = tail - head + more + MAX_STOLEN;
        if needed < self.capacity() {
            // A thief had moved the head back.
            return;
        }
        let new = vacant((needed + 1).next_power_of_two());
        for position in head..tail {
            new[position & (new.len() - 1)].store(self.slot(position).load(Relaxed), Relaxed);
        }
        // SAFETY: this is the owner, which has the lock, so no other thread reads the slots.
        drop(self.slots.with_mut(|slots| unsafe { replace(&mut *slots, new) }));
    }

    /// For the owner: takes the youngest task.
    #[inline]
    pub fn pop(&self) -> Option<NonNull<Task>> {
        let tail = self.tail.0.load(Relaxed);
        // Release, as in `push`: a thief that reads this position sees all tasks below.
        self.tail.0.store(tail - 1, Release);
        // Pairs with the barrier of a thief, see the head of this file.
        if self.has_barrier {
            light_fence();
        } else {
            fence(SeqCst);
        }
        if self.head.0.load(Relaxed) < tail { Some(self.task_at(tail - 1)) } else { self.pop_last(tail) }
    }

    /// Takes the youngest task if no thief has it; the ring ended at `tail`.
    #[cold]
    fn pop_last(&self, tail: usize) -> Option<NonNull<Task>> {
        self.tail.0.store(tail, Release);
        let _guard = self.lock.lock();
        if self.head.0.load(Relaxed) == tail {
            return None;
        }
        self.tail.0.store(tail - 1, Release);
        Some(self.task_at(tail - 1))
    }

    /// For the owner: takes the oldest tasks, as many as `choose` returns for their number, and
    /// adds them to `taken` in order.
    pub fn take_oldest(&self, choose: impl FnOnce(usize) -> usize, taken: &mut Vec<NonNull<Task>>) {
        let _guard = self.lock.lock();
        let (head, tail) = (self.head.0.load(Relaxed), self.tail.0.load(Relaxed));
        let count = choose(tail - head).min(tail - head);
        taken.extend((head..head + count).map(|position| self.task_at(position)));
        self.head.0.store(head + count, Relaxed);
    }

    /// For the owner: puts tasks before all others, the oldest first.
    pub fn push_oldest(&self, tasks: &[NonNull<Task>]) {
        if self.len() + tasks.len() + MAX_STOLEN >= self.capacity() {
            self.grow(tasks.len());
        }
        // The lock publishes the tasks to the next thief.
        let _guard = self.lock.lock();
        let head = self.head.0.load(Relaxed) - tasks.len();
        for (position, task) in (head..).zip(tasks) {
            self.slot(position).store(task.as_ptr(), Relaxed);
        }
        self.head.0.store(head, Relaxed);
    }

    /// For a thief: adds up to half of the tasks, the oldest first, to `taken`; none if another
    /// thread has the lock. `barrier` passes a barrier, or a fence where there is none; if it
    /// returns false, nothing is stolen.
    pub fn steal(&self, barrier: impl FnOnce() -> bool, taken: &mut Vec<NonNull<Task>>) {
        let Some(_guard) = self.lock.try_lock() else { return };
        let head = self.head.0.load(Relaxed);
        let wanted = self.len().div_ceil(2).min(MAX_STOLEN);
        if wanted == 0 {
            return;
        }
        self.head.0.store(head + wanted, Relaxed);
        if !planted!("tasks-stolen-without-barrier") && !barrier() {
            // The owner may have taken tasks without seeing the head.
            self.head.0.store(head, Relaxed);
            return;
        }
        // Acquire pairs with the Release of `push`. The owner has taken what is beyond the tail.
        let left = self.tail.0.load(Acquire).saturating_sub(head);
        let count = if planted!("tasks-stolen-unchecked") { wanted } else { wanted.min(left) };
        self.head.0.store(head + count, Relaxed);
        taken.extend((head..head + count).map(|position| self.task_at(position)));
    }
}

fn vacant(slots: usize) -> Box<[AtomicPtr<Task>]> {
    (0..slots).map(|_| AtomicPtr::new(null_mut())).collect()
}
