//! The run queue of unbound tasks under work stealing: a private deque and a batch for thieves.
//!
//! The deque needs no synchronization, as only its worker accesses it. Up to half of the tasks, the
//! oldest, are in a hand-off cell of the `WorkerSlot`. A thief takes that batch with one exchange,
//! so that no task is taken twice:
//!
//! ```text
//! thief: reads the cell, finds the batch
//! owner: takes the batch back, runs its tasks
//! thief: takes the batch                    -> cannot happen: both exchange the cell for null
//! ```
//!
//! Model of the cell: `model/fork.rs`, `a_half_is_run_once_by_its_owner_or_a_thief`.

use crate::sync::HandoffCell;
use crate::task::Task;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// The most tasks that are stolen at once: enough to be worth the transfer, few enough to be shared
/// again.
pub(crate) const STEAL_BATCH_LEN: usize = 32;

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
    tasks: VecDeque<NonNull<Task>>,
    /// Runs before all others, and cannot be stolen.
    next: Option<NonNull<Task>>,
    /// How many tasks in a row have bypassed the deque through `next`.
    kept: u32,
    /// An empty batch, to be reused.
    spare: Option<Box<StealBatch>>,
}

impl Deque {
    pub fn new() -> Self {
        Self { tasks: VecDeque::new(), next: None, kept: 0, spare: None }
    }

    /// Returns the number of tasks that can be stolen.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns true if there is a task that bypasses the deque.
    pub fn keeps(&self) -> bool {
        self.next.is_some()
    }

    /// Lets a task run next, bypassing the deque; the task that was to run next goes into the
    /// deque. Returns false, without taking the task, if too many in a row have done so.
    pub fn keep(&mut self, task: NonNull<Task>) -> bool {
        self.kept += 1;
        if self.kept > MAX_KEPT_IN_A_ROW {
            self.kept = 0;
            return false;
        }
        self.tasks.extend(self.next.replace(task));
        true
    }

    #[inline]
    pub fn push(&mut self, task: NonNull<Task>) {
        self.tasks.push_back(task);
    }

    /// Takes the next task, or else the youngest.
    #[inline]
    pub fn pop(&mut self) -> Option<NonNull<Task>> {
        if self.next.is_some() {
            return self.next.take();
        }
        self.kept = 0;
        self.tasks.pop_back()
    }

    /// Takes the oldest task.
    pub fn pop_oldest(&mut self) -> Option<NonNull<Task>> {
        self.tasks.pop_front().or_else(|| self.next.take())
    }

    /// Puts the oldest tasks into a hand-off cell: up to half of them, but at least one. The deque
    /// must not be empty, and the cell must be; only this worker fills the cell.
    pub fn share(&mut self, cell: &HandoffCell<StealBatch>) {
        let mut steal_batch =
            self.spare.take().unwrap_or_else(|| Box::new(StealBatch(Vec::with_capacity(STEAL_BATCH_LEN))));
        let count = (self.tasks.len() / 2).clamp(1, STEAL_BATCH_LEN);
        steal_batch.0.extend(self.tasks.drain(..count));
        cell.put(NonNull::from(Box::leak(steal_batch)));
    }

    /// Takes the batch in a hand-off cell, this worker's own or another's, as the oldest tasks of
    /// this deque. Returns the number of tasks.
    pub fn take_from(&mut self, cell: &HandoffCell<StealBatch>) -> usize {
        let Some(steal_batch) = cell.take() else { return 0 };
        // SAFETY: `share` leaked the box into the cell, and the cell gives it to one taker alone.
        let mut steal_batch = unsafe { Box::from_raw(steal_batch.as_ptr()) };
        let count = steal_batch.0.len();
        for task in steal_batch.0.drain(..).rev() {
            self.tasks.push_front(task);
        }
        self.spare = Some(steal_batch);
        count
    }
}
