//! Work stealing of unbound tasks: see
//! [`QueuePolicy::WorkStealing`](crate::QueuePolicy::WorkStealing).
//!
//! A worker puts a batch of its oldest tasks into its slot; a thief takes the whole batch with one
//! exchange. A worker in a long task does not fill its slot again. If a thief has seen tasks, and
//! no batch, for [`PATIENCE`] probes, it steals from that worker's ring, which takes a barrier.
//! `pool/deque.rs` and `pool/task_ring.rs` have the structures.

use super::run_queue::UNBOUND;
use super::runtime_state::WorkerSlot;
use super::unbound::{Unbound, UnboundQueue};
use super::{OfferKinds, RuntimeState, Worker};
use crate::pool::QueuePolicy;
use crate::sync::{SeqCst, fence, light_fence, under_model};

/// Probes that find tasks of other workers, and no batch, before the thief steals from a ring.
const PATIENCE: u32 = under_model(128, 1) as u32;

impl Unbound {
    /// Offers a batch of tasks to other workers if none is on offer. Offers none if the only task
    /// could run here at once, unless another worker searches.
    #[inline]
    fn share(&mut self, shared: &RuntimeState, worker: usize) {
        let UnboundQueue::Stealing(deque) = &mut self.queue else { return };
        let cell = &shared.slots[worker].steal_batch;
        let is_wanted = || {
            // Pairs with the barrier in `Worker::fall_asleep`: either this worker sees that the
            // other one searches, or the other one sees the task in the ring.
            light_fence();
            shared.is_any_searching()
        };
        let has_enough = deque.len() > 1 || deque.len() == 1 && (deque.keeps() || is_wanted());
        if has_enough && shared.slots.len() > 1 && cell.is_empty() && deque.share(cell) {
            // Pairs with the fence in `Worker::fall_asleep`: either this worker sees that the other
            // one sleeps, or the other one sees the batch before it does.
            fence(SeqCst);
            shared.wake_for_offer(worker, OfferKinds::TASKS);
        }
    }

    /// Offers tasks to other workers even if there is only one. The caller passes a fence and wakes
    /// a worker.
    pub fn offer(&mut self, slot: &WorkerSlot) {
        if let UnboundQueue::Stealing(deque) = &mut self.queue {
            deque.stop_keeping();
            _ = slot.steal_batch.is_empty() && deque.share(&slot.steal_batch);
        }
    }

    /// Takes the batch of another worker. Returns the number of tasks and the worker they come
    /// from.
    fn take_batch(&mut self, shared: &RuntimeState, worker: usize) -> Option<(usize, usize)> {
        let UnboundQueue::Stealing(deque) = &mut self.queue else { return None };
        let tasks_of = |victim: usize| (deque.take_from(&shared.slots[victim].steal_batch), victim);
        shared.others(worker).map(tasks_of).find(|&(tasks, _)| tasks > 0)
    }

    /// Steals from the ring of a worker that has had tasks there for a while. Returns the number of
    /// tasks and the worker they come from.
    fn steal_from_ring(&mut self, shared: &RuntimeState, worker: usize) -> Option<(usize, usize)> {
        let UnboundQueue::Stealing(deque) = &mut self.queue else { return None };
        let has_tasks = |&victim: &usize| shared.may_steal_tasks_of(victim);
        let Some(victim) = shared.others(worker).find(has_tasks) else {
            self.unshared = 0;
            return None;
        };
        self.unshared += 1;
        if self.unshared <= PATIENCE {
            return None;
        }
        self.unshared = 0;
        let tasks = deque.steal_from(&shared.slots[victim].unbound, || shared.barrier());
        (tasks > 0).then_some((tasks, victim))
    }
}

impl RuntimeState {
    /// Returns the workers other than this one, from the next one on.
    pub(crate) fn others(&self, worker: usize) -> impl Iterator<Item = usize> {
        (worker + 1..self.slots.len()).chain(0..worker)
    }

    /// Returns true if a worker has tasks in its ring that the calling one may steal.
    fn may_steal_tasks_of(&self, victim: usize) -> bool {
        self.slots[victim].unbound.len() > 0 && self.may_steal_from(victim)
    }
}

impl Worker {
    /// Offers a batch of tasks to other workers, if there are enough.
    #[inline]
    pub(super) fn share(&mut self) {
        self.unbound.share(&self.shared, self.index);
    }

    /// Steals tasks from another worker. Returns true if there were some.
    pub(super) fn steal(&mut self) -> bool {
        let (shared, index) = (&self.shared, self.index);
        let batch = self.unbound.take_batch(shared, index);
        let stolen = batch.or_else(|| self.unbound.steal_from_ring(shared, index));
        let Some((tasks, victim)) = stolen else { return false };
        self.trace.stolen(tasks, victim);
        self.queue.ready |= UNBOUND;
        self.begin_work();
        self.wake_for_injected();
        self.counters().steals.add(1);
        self.probe_others_next();
        // Wakes the next thief, if one sleeps: the victim may be in a long task.
        self.share();
        true
    }

    /// Returns true if there are tasks that this worker may take: of another worker, or injected.
    pub(super) fn sees_unbound_tasks(&self) -> bool {
        let has_tasks = |worker: usize| {
            !self.shared.slots[worker].steal_batch.is_empty() || self.shared.may_steal_tasks_of(worker)
        };
        self.shared.policy == QueuePolicy::WorkStealing
            && (self.shared.has_injected_tasks() || self.shared.others(self.index).any(has_tasks))
    }
}
