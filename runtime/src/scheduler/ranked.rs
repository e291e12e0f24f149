//! Unbound tasks in one queue that all workers share: see
//! [`QueuePolicy::Ranked`](crate::QueuePolicy::Ranked).
//!
//! A push wakes a sleeper only if no worker is idle, as an idle worker looks into the queue before
//! it sleeps. But it may find an older task, and be busy with that for long:
//!
//! ```text
//! pusher: pushes task B, sees a worker idle, wakes none
//! worker: takes task A, which takes long               -> B waits, although other workers sleep
//! ```
//!
//! So a worker that stops being idle clears its flags, issues a fence, and takes its task; then it
//! looks into the queue again, and wakes a sleeper if there is more. The pusher publishes, issues a
//! fence, and looks for idle workers. Either the pusher sees that the worker is not idle, or the
//! worker sees B. Model: `model/ranked.rs`.

use super::run_queue::UNBOUND;
use super::unbound::UnboundQueue;
use super::{RuntimeState, Worker};
use crate::annotation::Priority;
use crate::pool::{QueuePolicy, RankOrder, Ranked};
use crate::sync::{SeqCst, fence};
use crate::task::{Meta, Task, options::Options};
use core::ptr::NonNull;

impl Options {
    /// Adds the rank to a task's annotations, unless it has a priority: only one of the two says
    /// how urgent it is.
    #[inline(always)]
    pub(crate) fn rank_of(&self, meta: Meta) -> Meta {
        match self.rank {
            Some(rank) if self.priority.is_none() => meta.with_rank(rank),
            _ => meta,
        }
    }
}

impl Ranked {
    /// Returns the shared queue of a runtime whose queue policy has one.
    pub(super) fn of_policy(policy: QueuePolicy, workers: usize) -> Option<Self> {
        match policy {
            QueuePolicy::Ranked(RankOrder::Exact) => Some(Self::exact()),
            QueuePolicy::Ranked(RankOrder::Relaxed) => Some(Self::relaxed(workers)),
            _ => None,
        }
    }
}

impl RuntimeState {
    /// Pushes a task to the shared queue, and makes sure that a worker takes it. Returns the heap
    /// that the task is in.
    ///
    /// # Safety
    ///
    /// The caller owns the task and gives it up.
    pub(super) unsafe fn push_ranked(
        &self,
        queue: &Ranked,
        mut task: NonNull<Task>,
        rank: u16,
        worker: usize,
    ) -> usize {
        // Follow-ups do not inherit the rank, nor the ring that it would choose.
        // SAFETY: the caller owns the task, by the contract of this function.
        unsafe { task.as_mut().meta = task.as_ref().meta.with_priority(Priority::Normal) };
        let heap = queue.push(task, rank);
        // Pairs with the fence in `Worker::fall_asleep`: either this thread sees that the worker
        // sleeps, or the worker sees the task before it does. And with the fence in
        // `Worker::begin_work`: a worker that this thread still sees idle sees the task.
        if !planted!("ranked-without-fence") {
            fence(SeqCst);
        }
        self.wake_for_work(worker);
        heap
    }

    /// Returns true if the shared queue has tasks.
    pub(super) fn has_ranked_tasks(&self) -> bool {
        self.ranked.as_ref().is_some_and(Ranked::has_tasks)
    }
}

impl Worker {
    /// Pushes a task of this worker to the shared queue, if there is one.
    pub(super) fn push_ranked(&mut self, task: NonNull<Task>, meta: Meta) {
        let Some(queue) = &self.shared.ranked else { return };
        // SAFETY: the task belongs to this worker, which gives it up.
        let heap = unsafe {
            self.trace.put(task);
            self.shared.push_ranked(queue, task, meta.rank(), self.index)
        };
        if let Some(time) = self.shared.virtual_time() {
            time.record_push(heap);
        }
        self.queue.ready |= UNBOUND;
    }

    /// Takes a task from the shared queue.
    pub(super) fn pop_ranked(&mut self) -> Option<NonNull<Task>> {
        // The task before may have taken long. This one was not this worker's until now, so that a
        // shutdown that began meanwhile cancels it.
        self.check_signals();
        let UnboundQueue::Ranked { random } = &mut self.unbound.queue else { return None };
        let queue = self.shared.ranked.as_ref()?;
        let (task, heap) = queue.pop(random)?;
        if let Some(time) = self.shared.virtual_time() {
            time.record_pop(heap);
        }
        self.trace.queued(1);
        // This task may take long, and the thread that pushed the next one may have seen this
        // worker idle and woken none.
        if !self.shared.are_all_awake() && queue.has_tasks() {
            self.shared.wake_for_work(self.index);
        }
        Some(task)
    }
}
