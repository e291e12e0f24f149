//! Work stealing of unbound tasks: see
//! [`QueuePolicy::WorkStealing`](crate::QueuePolicy::WorkStealing).
//!
//! A worker puts a batch of its oldest tasks into its slot; a thief takes the whole batch with one
//! exchange. `pool/deque.rs` has the structure.

use super::run_queue::UNBOUND;
use super::unbound::{Unbound, UnboundQueue};
use super::{RuntimeState, Worker};
use crate::pool::QueuePolicy;
use crate::sync::{SeqCst, fence};

impl Unbound {
    /// Offers a batch of tasks to other workers if none is on offer. Offers none if the only task
    /// could run here at once, unless another worker searches.
    #[inline]
    fn share(&mut self, shared: &RuntimeState, worker: usize) {
        let UnboundQueue::Stealing(deque) = &mut self.queue else { return };
        let cell = &shared.slots[worker].steal_batch;
        let has_enough = deque.len() > 1 || deque.len() == 1 && (deque.keeps() || shared.is_any_searching());
        if has_enough && shared.slots.len() > 1 && cell.is_empty() {
            deque.share(cell);
            // Pairs with the fence in `Worker::fall_asleep`: either this worker sees that the other
            // one sleeps, or the other one sees the batch before it does.
            fence(SeqCst);
            shared.wake_for_work(worker);
        }
    }

    /// Takes the batch of another worker. Returns the number of tasks and the worker they come
    /// from.
    fn steal(&mut self, shared: &RuntimeState, worker: usize) -> Option<(usize, usize)> {
        let UnboundQueue::Stealing(deque) = &mut self.queue else { return None };
        let (before, from) = shared.slots.split_at(worker);
        let others = (worker + 1..).zip(&from[1..]).chain((0..).zip(before));
        others
            .map(|(victim, slot)| (deque.take_from(&slot.steal_batch), victim))
            .find(|&(tasks, _)| tasks > 0)
    }
}

impl Worker {
    /// Offers a batch of tasks to other workers, if there are enough.
    #[inline]
    pub(super) fn share(&mut self) {
        self.unbound.share(&self.shared, self.index);
    }

    /// Steals a batch of tasks from another worker. Returns true if there was one.
    pub(super) fn steal(&mut self) -> bool {
        let Some((tasks, victim)) = self.unbound.steal(&self.shared, self.index) else { return false };
        self.trace.stolen(tasks, victim);
        self.queue.ready |= UNBOUND;
        self.begin_work();
        self.counters().steals.add(1);
        self.probe_others_next();
        self.share();
        true
    }

    /// Returns true if another worker offers a batch of tasks.
    pub(super) fn sees_steal_batch(&self) -> bool {
        let is_other = |worker: &usize| *worker != self.index;
        let has_batch = |worker: usize| !self.shared.slots[worker].steal_batch.is_empty();
        self.shared.policy == QueuePolicy::WorkStealing
            && (0..self.shared.slots.len()).filter(is_other).any(has_batch)
    }
}
