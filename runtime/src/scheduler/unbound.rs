//! Unbound tasks: those that name no object, no place and no other priority, so that any worker may
//! run them.
//!
//! The [`QueuePolicy`](crate::QueuePolicy) of the runtime says how they reach a worker:
//!
//! - `Local`: a push enters the ring of the pushing worker, like any task.
//! - `WorkStealing`: a push enters the worker's deque, and a batch of the oldest tasks lies in its
//!   slot. A worker without tasks takes the batch of another one, or some of its other tasks
//!   (`steal.rs`).
//! - `XQueue`: a push enters one of the worker's SPSC rings, in turn (`round_robin.rs`). If that is
//!   full, the task runs inline (`inline.rs`). A worker looks into the rings that lead to it.
//! - `Ranked`: a push enters the queue that all workers share, and each worker takes the first task
//!   there (`ranked.rs`).
//!
//! A worker that has tasks in its rings as well alternates between the two: see
//! [`RunQueue::is_turn_of_unbound`](super::run_queue::RunQueue::is_turn_of_unbound).
//!
//! Each push for other workers first publishes the task, then issues a fence, then wakes a sleeper
//! if none is idle. A worker that falls asleep first sets its flag, then issues a fence, then looks
//! at the same places. So at least one of the two sees the other: the head of `sleep.rs` has the
//! schedule that this rules out. Models: `model/lane.rs`, `model/ranked.rs`, `model/fork.rs`.

use super::round_robin::{Dealt, RoundRobin};
use super::run_queue::{HIGH, NORMAL, RINGS, UNBOUND};
use super::{RuntimeState, Worker};
use crate::annotation::Priority;
use crate::object::Fetch;
use crate::pool::{Deque, QueuePolicy};
use crate::sync::Relaxed;
use crate::task::{Meta, Task};
use alloc::boxed::Box;
use core::ptr::NonNull;

/// Unbound tasks that run before other tasks are looked at.
pub(super) const UNBOUND_BATCH: usize = 8;

/// A worker's unbound tasks.
pub(super) struct Unbound {
    pub queue: UnboundQueue,
    /// Unbound tasks have a queue of their own.
    pub is_separate: bool,
    /// Unbound tasks still to run inline before the queues are probed again.
    pub inline_budget: u8,
    /// Probes in a row that saw tasks in rings of other workers, and no batch.
    pub unshared: u32,
    /// Other threads may have put tasks into rings that lead to this worker, into the shared queue,
    /// or into the injector.
    pub has_shared_sources: bool,
}

/// Where a worker has its unbound tasks.
pub(super) enum UnboundQueue {
    /// In its rings, with the others: [`QueuePolicy::Local`].
    InRings,
    /// In its deque: [`QueuePolicy::WorkStealing`].
    Stealing(Deque),
    /// In its own queue and in rings between workers: [`QueuePolicy::XQueue`].
    RoundRobin(Box<RoundRobin>),
    /// In the queue that all workers share: [`QueuePolicy::Ranked`].
    Ranked {
        /// State of the random choice of heaps.
        random: u64,
    },
}

impl Unbound {
    pub fn new(shared: &RuntimeState, worker: usize) -> Self {
        let queue = match shared.policy {
            QueuePolicy::Local => UnboundQueue::InRings,
            QueuePolicy::WorkStealing => {
                UnboundQueue::Stealing(Deque::new(shared.slots[worker].unbound.clone()))
            }
            QueuePolicy::XQueue(links) => {
                UnboundQueue::RoundRobin(Box::new(RoundRobin::new(shared, links, worker)))
            }
            QueuePolicy::Ranked(_) => UnboundQueue::Ranked { random: (worker as u64) << 32 },
        };
        Self {
            queue,
            is_separate: shared.policy != QueuePolicy::Local,
            inline_budget: 0,
            unshared: 0,
            has_shared_sources: shared.policy != QueuePolicy::Local,
        }
    }

    /// Probes the queue whose turn it is. Returns true if it is full, so that the task has to run
    /// inline.
    #[inline(never)]
    pub fn probe_is_full(&mut self) -> bool {
        let UnboundQueue::RoundRobin(round_robin) = &mut self.queue else { return false };
        let has_room = round_robin.has_room();
        self.inline_budget = round_robin.inline_budget();
        !has_room
    }
}

impl Worker {
    /// Takes the next unbound task. On `ages` it is the oldest of a deque, which may otherwise wait
    /// for long below a chain of younger tasks.
    #[inline]
    fn pop_unbound(&mut self, ages: bool) -> Option<NonNull<Task>> {
        match &mut self.unbound.queue {
            // In the rings, where the worker takes them.
            UnboundQueue::InRings => None,
            UnboundQueue::Ranked { .. } => self.pop_ranked(),
            UnboundQueue::Stealing(deque) => {
                let youngest = if ages { None } else { deque.pop() };
                youngest.or_else(|| self.take_batch_back(ages))
            }
            UnboundQueue::RoundRobin(round_robin) => round_robin.own.pop_front(),
        }
    }

    /// Takes back the batch that is on offer, and takes the next task.
    fn take_batch_back(&mut self, ages: bool) -> Option<NonNull<Task>> {
        let UnboundQueue::Stealing(deque) = &mut self.unbound.queue else { return None };
        let count = deque.take_from(&self.shared.slots[self.index].steal_batch);
        let task = if ages { deque.pop_oldest() } else { deque.pop() };
        if count > 1 && self.shared.is_any_searching() {
            // A worker that has looked meanwhile has seen none of them.
            self.share();
        }
        task
    }

    /// Pushes an unbound task where the queue policy says.
    #[inline(never)]
    pub(super) fn push_unbound(&mut self, task: NonNull<Task>, meta: Meta) {
        if let UnboundQueue::Ranked { .. } = self.unbound.queue
            && meta.is_ordered_by_rank()
        {
            return self.push_ranked(task, meta);
        }
        if meta.level() != Priority::Normal as usize {
            return self.push_here(task, meta.bound(), Fetch::NONE);
        }
        // SAFETY: the task belongs to this worker.
        unsafe { self.trace.put(task) };
        match &mut self.unbound.queue {
            UnboundQueue::InRings | UnboundQueue::Ranked { .. } => {
                unreachable!("a task is marked as unbound although the queue policy has no queue for it")
            }
            UnboundQueue::Stealing(deque) => {
                deque.push(task);
                self.trace.queued(1);
                self.queue.ready |= UNBOUND;
                self.share();
            }
            UnboundQueue::RoundRobin(_) => self.deal(task),
        }
    }

    /// Pushes an unbound task so that this worker runs it next, and no other worker takes it. Where
    /// that is impossible, or too many tasks in a row have done so, it is pushed as usual.
    pub(super) fn keep_unbound_task(&mut self, task: NonNull<Task>, meta: Meta) {
        if meta.level() == Priority::Normal as usize
            && let UnboundQueue::Stealing(deque) = &mut self.unbound.queue
            && deque.keep(task)
        {
            // SAFETY: the task belongs to this worker.
            unsafe { self.trace.put(task) };
            self.trace.queued(1);
            self.queue.ready |= UNBOUND;
        } else {
            self.push_unbound(task, meta);
        }
    }

    /// Gives a task to the worker whose turn it is.
    fn deal(&mut self, task: NonNull<Task>) {
        let UnboundQueue::RoundRobin(round_robin) = &mut self.unbound.queue else { return };
        match round_robin.deal(task) {
            Dealt::To { target, is_check_due } => {
                self.trace.counters().remote_spawns.add(1);
                if self.shared.slots[target].asleep.0.load(Relaxed) {
                    self.shared.wake(target);
                }
                if is_check_due {
                    self.check_sleepers();
                }
            }
            Dealt::Own => {
                self.queue.ready |= UNBOUND;
                self.trace.queued(1);
            }
            Dealt::Nowhere => self.run_inline(task),
        }
    }

    /// Wakes the workers that fell asleep while this one sent them tasks.
    pub(super) fn check_sleepers(&mut self) {
        if let UnboundQueue::RoundRobin(round_robin) = &mut self.unbound.queue {
            round_robin.check_sleepers(&self.shared);
        }
    }

    /// Looks for tasks that other workers have sent: in all places, or only where a hint says so.
    pub(super) fn collect(&mut self, from_all: bool) {
        if let UnboundQueue::Stealing(_) = &self.unbound.queue {
            self.take_injected(from_all);
        } else if let UnboundQueue::RoundRobin(round_robin) = &mut self.unbound.queue {
            let collected = round_robin.collect(from_all);
            if !round_robin.own.is_empty() {
                self.queue.ready |= UNBOUND;
            }
            self.trace.queued(collected);
        } else if !(from_all && planted!("ranked-without-recheck")) && self.shared.has_ranked_tasks() {
            self.queue.ready |= UNBOUND;
        }
    }

    /// Runs some unbound tasks. Out of line: inside the worker's loop it would take registers from
    /// the tasks of the rings.
    #[inline(never)]
    pub(super) fn unbound_burst(&mut self, max_tasks: usize, ran: &mut usize) {
        let ages = self.queue.begin_unbound_burst();
        if ages && self.has_garbage() {
            self.reclaim();
        }
        let others = self.queue.ready & RINGS;
        let group = if others & HIGH != 0 { 1 } else { UNBOUND_BATCH };
        for _ in 0..group.min(max_tasks - *ran) {
            let Some(task) = self.pop_unbound(ages) else {
                self.queue.ready &= !UNBOUND;
                return;
            };
            *ran += 1;
            // SAFETY: a task that was taken from this worker's queues belongs to it.
            unsafe { self.run_unbound(task) };
            if self.queue.ready & RINGS & !others & (HIGH | NORMAL) != 0 {
                return;
            }
        }
        self.share();
    }
}
