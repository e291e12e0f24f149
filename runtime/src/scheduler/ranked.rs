//! Tasks that are bound to nothing, where all workers share one queue of them: see [`Pool::Ranked`](crate::Pool::Ranked).

use super::free::{FREE, Free};
use super::{Context, Shared};
use crate::annotation::Priority;
use crate::pool::{Pool, Ranked, Ranking};
use crate::sync::{Relaxed, SeqCst, fence};
use crate::task::{Meta, Task, builder::Options};
use core::ptr::NonNull;

impl Options {
    /// A task's facts with its rank among them, if it is a rank that says how urgent the task is.
    #[inline(always)]
    pub(crate) fn rank_of(&self, meta: Meta) -> Meta {
        match self.rank {
            Some(rank) if self.priority.is_none() => meta.ranked(rank),
            _ => meta,
        }
    }
}

impl Ranked {
    /// The queue of a runtime with such pools.
    pub(super) fn of_pool(pool: Pool, workers: usize) -> Option<Self> {
        match pool {
            Pool::Ranked(Ranking::Exact) => Some(Self::exact()),
            Pool::Ranked(Ranking::Relaxed) => Some(Self::relaxed(workers)),
            _ => None,
        }
    }
}

impl Shared {
    /// Puts a task into the queue, and sees to it that somebody comes for it. Returns in which heap the task is.
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
        // Its rank is not for its follow-ups, so neither is the ring that it would have been in.
        // SAFETY: by the caller's promise.
        unsafe { task.as_mut().meta = task.as_ref().meta.at(Priority::Normal) };
        let heap = queue.push(task, rank);
        // With the ones in `Context::fall_asleep` and `Context::begin_work`: either this thread sees that a worker sleeps, or
        // that one sees the task before it does; and whoever is still seen to look for work finds it.
        if !planted!("ranked-without-fence") {
            fence(SeqCst);
        }
        self.wake_for_work(worker);
        heap
    }
}

impl Context {
    /// Puts a task of this worker's into the queue that all share, if there is one.
    pub(super) fn push_ranked(&mut self, task: NonNull<Task>, meta: Meta) {
        let Some(queue) = &self.shared.ranked else { return };
        self.observe_put(task);
        // SAFETY: the task belongs to this worker, which gives it up.
        let heap = unsafe { self.shared.push_ranked(queue, task, meta.rank(), self.index) };
        self.shared.platform.put_into_queue(heap);
        self.ready |= FREE;
    }

    /// Takes a task from the queue.
    pub(super) fn pop_ranked(&mut self) -> Option<NonNull<Task>> {
        // The task before may have taken long, and the next one has not been this worker's so far.
        self.look_at_phase();
        let Free::Ranked { random } = &mut self.free else { return None };
        let queue = self.shared.ranked.as_ref()?;
        let (task, heap) = queue.pop(random)?;
        self.shared.platform.took_from_queue(heap);
        self.observe_queued(1);
        // A task may take long, and who put the next one there saw this worker idle and woke nobody.
        if self.shared.awake.load(Relaxed) < self.shared.seats.len() && queue.has_tasks() {
            self.shared.wake_for_work(self.index);
        }
        Some(task)
    }

    /// Whether there is anything in the queue.
    pub(super) fn sees_ranked(&self) -> bool {
        self.shared.ranked.as_ref().is_some_and(Ranked::has_tasks)
    }
}
