//! The run queue of unbound tasks under work stealing: a ring that others may steal from, and a
//! batch for thieves.
//!
//! Up to half of the tasks, the oldest, are in a hand-off cell of the `WorkerSlot`. A thief takes
//! that batch with one exchange, and needs no barrier. If the worker does not fill the cell again,
//! as it runs a long task, thieves steal from its ring.

use super::injector::{Injector, InjectorPace};
use super::task_ring::{MAX_STOLEN, TaskRing};
use crate::sync::HandoffCell;
use crate::task::Task;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// How many tasks in a row may bypass the deque. After that one goes through it, so that a long
/// chain of tasks can be stolen.
const MAX_KEPT_IN_A_ROW: u32 = 8;

/// A batch of tasks, the oldest first, for a thief.
pub(crate) struct StealBatch(Vec<NonNull<Task>>);

/// A worker's own tasks, of which it runs the youngest first.
///
/// A batch of the oldest tasks is in a hand-off cell, from which a thief may take it; so may the
/// worker, when it has no other tasks.
pub(crate) struct Deque {
    ring: Arc<TaskRing>,
    /// Runs before all others, and cannot be stolen.
    next: Option<NonNull<Task>>,
    /// How many tasks in a row have bypassed the ring through `next`.
    kept: u32,
    /// An empty batch, to be reused.
    spare: Option<Box<StealBatch>>,
    /// How fast the tasks from outside run.
    pace: InjectorPace,
}

impl Deque {
    /// Makes the deque of the worker that owns the ring.
    pub fn new(ring: Arc<TaskRing>) -> Self {
        Self { ring, next: None, kept: 0, spare: None, pace: InjectorPace::default() }
    }

    /// Returns the number of tasks that can be stolen.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns true if there is a task that bypasses the ring.
    pub fn keeps(&self) -> bool {
        self.next.is_some()
    }

    /// Lets a task run next, bypassing the ring; the task that was to run next goes into the ring.
    /// Returns false, without taking the task, if too many in a row have done so.
    pub fn keep(&mut self, task: NonNull<Task>) -> bool {
        self.kept += 1;
        if self.kept > MAX_KEPT_IN_A_ROW {
            self.kept = 0;
            return false;
        }
        if let Some(before) = self.next.replace(task) {
            self.ring.push(before);
        }
        true
    }

    /// Lets other workers steal the task that was to run next.
    pub fn stop_keeping(&mut self) {
        if let Some(next) = self.next.take() {
            self.ring.push(next);
        }
    }

    #[inline]
    pub fn push(&mut self, task: NonNull<Task>) {
        self.ring.push(task);
    }

    /// Takes the next task, or else the youngest.
    #[inline]
    pub fn pop(&mut self) -> Option<NonNull<Task>> {
        if self.next.is_some() {
            return self.next.take();
        }
        self.kept = 0;
        self.ring.pop()
    }

    /// Takes the oldest task.
    pub fn pop_oldest(&mut self) -> Option<NonNull<Task>> {
        let mut batch = self.empty_batch();
        self.ring.take_oldest(|_| 1, &mut batch.0);
        let oldest = batch.0.pop();
        self.spare = Some(batch);
        oldest.or_else(|| self.next.take())
    }

    /// Puts the oldest tasks into a hand-off cell: up to half of them, but at least one. The cell
    /// must be empty; only this worker fills it. Returns false if thieves have taken all tasks.
    pub fn share(&mut self, cell: &HandoffCell<StealBatch>) -> bool {
        let mut batch = self.empty_batch();
        self.ring.take_oldest(|count| (count / 2).clamp(1, MAX_STOLEN), &mut batch.0);
        if batch.0.is_empty() {
            self.spare = Some(batch);
            return false;
        }
        cell.put(NonNull::from(Box::leak(batch)));
        true
    }

    fn empty_batch(&mut self) -> Box<StealBatch> {
        self.spare.take().unwrap_or_else(|| Box::new(StealBatch(Vec::with_capacity(MAX_STOLEN))))
    }

    /// Takes the batch in a hand-off cell, this worker's own or another's, as the oldest tasks of
    /// this deque. Returns the number of tasks.
    pub fn take_from(&mut self, cell: &HandoffCell<StealBatch>) -> usize {
        let Some(batch) = cell.take() else { return 0 };
        // SAFETY: `share` leaked the box into the cell, and the cell gives it to one taker alone.
        let batch = unsafe { Box::from_raw(batch.as_ptr()) };
        self.adopt(batch)
    }

    /// Takes one of `shares` parts of the tasks from outside, as the youngest of this deque: the
    /// oldest of them runs first. Returns their number. `now` is the platform's time.
    pub fn take_injected(&mut self, injector: &Injector, shares: usize, now: u64) -> usize {
        let mut batch = self.empty_batch();
        let has_others = self.keeps() || self.len() > 0;
        injector.take(shares, self.pace.most(has_others, now), &mut batch.0);
        let count = batch.0.len();
        self.pace.took(count, now);
        batch.0.drain(..).rev().for_each(|task| self.ring.push(task));
        self.spare = Some(batch);
        count
    }

    /// Steals tasks from another worker's ring, as the oldest of this deque. Returns their number.
    /// `barrier` is as for [`TaskRing::steal`].
    pub fn steal_from(&mut self, ring: &TaskRing, barrier: impl FnOnce() -> bool) -> usize {
        let mut batch = self.empty_batch();
        ring.steal(barrier, &mut batch.0);
        self.adopt(batch)
    }

    fn adopt(&mut self, mut batch: Box<StealBatch>) -> usize {
        let count = batch.0.len();
        self.ring.push_oldest(&batch.0);
        batch.0.clear();
        self.spare = Some(batch);
        count
    }
}
