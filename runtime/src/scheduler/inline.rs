//! Unbound tasks that run inside another task: inside its spawn, where every queue is full, or
//! inside the internal message that released them.

use super::Worker;
use super::run_queue::UNBOUND;
use super::unbound::UnboundQueue;
use crate::annotation::Priority;
use crate::task::{Task, catch};
use core::ptr::NonNull;

/// Tasks that run inside each other, at most.
const MAX_NESTING: u8 = 64;

impl Worker {
    /// Bit of `Worker::nested` for a task that may be inside a join: no task runs inside it.
    pub(crate) const IN_JOIN: u8 = 1 << 7;

    /// Returns true if an unannotated task is to run inline, as the queue whose turn it is has no
    /// room. Never where runs are checked: such a task needs a descriptor that says what it is.
    #[inline(always)]
    pub(super) fn has_no_room(&mut self) -> bool {
        if self.current.level() != Priority::Normal as usize
            || self.nested >= MAX_NESTING
            || self.trace.checks != 0
        {
            return false;
        }
        if self.unbound.inline_budget == 0 {
            return self.unbound.probe_is_full();
        }
        self.unbound.inline_budget -= 1;
        true
    }

    /// Runs a task inside the spawn that made it. If the nesting is too deep, keeps it for later.
    pub(super) fn run_inline(&mut self, task: NonNull<Task>) {
        self.trace.queued(1);
        if self.nested >= MAX_NESTING {
            let UnboundQueue::RoundRobin(round_robin) = &mut self.unbound.queue else {
                unreachable!("a task is to run inline although the queue policy has no full queues")
            };
            round_robin.own.push_back(task);
            self.queue.ready |= UNBOUND;
            return;
        }
        let outer = self.trace.suspend(self.epoch.ledger(), self.queue.bursts, false);
        let post = self.shared.posts.as_ref().and_then(|posts| posts.take(self.index));
        // SAFETY: the spawn gave the task up to this worker, and it is in no queue.
        self.within(|worker| unsafe { worker.run_unbound(task) });
        // The outer task goes on, and so does the watch over it.
        if let Some(posts) = self.shared.posts.as_ref().filter(|_| !planted!("inline-task-ends-watch")) {
            posts.put_back(self.index, post);
        }
        self.trace.resume(outer, self.epoch.ledger());
    }

    /// Runs a task that has waited for something else, inside the internal message that released
    /// it.
    ///
    /// # Safety
    ///
    /// The task was given up to the caller, its spawn was recorded, and it is in no queue.
    #[cfg(feature = "baselines")]
    pub(crate) unsafe fn run_waiting(&mut self, task: NonNull<Task>) {
        // A message may run many tasks.
        self.check_signals();
        self.trace.queued(1);
        // SAFETY: the task belongs to this worker, by the contract of this function.
        self.within(|worker| unsafe { worker.run_unbound(task) });
    }

    /// Runs a task inside the current one.
    #[inline(always)]
    pub(crate) fn within(&mut self, run: impl FnOnce(&mut Self)) {
        let (meta, nested) = (self.current, self.nested);
        let group = self.groups.set_current(None);
        self.nested += 1;
        let outcome = catch(|| run(self));
        self.settle(outcome);
        self.groups.set_current(group);
        (self.current, self.nested) = (meta, nested);
    }

    /// Runs an unbound task. Its cost counts for the worker that runs it.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    pub(super) unsafe fn run_unbound(&mut self, task: NonNull<Task>) {
        // SAFETY: the task belongs to this worker, by the contract of this function.
        unsafe {
            self.queue.extra_load += task.as_ref().meta.cost();
            self.run_task(task);
        }
    }
}
