//! Unbound tasks from outside, under work stealing: all workers take them from one inbox.
//!
//! A task that was sent to one worker would wait while that worker is in a long task. So the worker
//! that can begin first takes it. The pushing thread wakes a sleeper only if no worker is idle; as
//! with [ranked tasks](super::ranked), a worker that stops being idle looks once more, and wakes
//! another one if it leaves tasks behind. Model: `model/injected.rs`.

use super::run_queue::{RINGS, UNBOUND};
use super::unbound::UnboundQueue;
use super::{RuntimeState, Worker};
use crate::pool::Injector;
use crate::task::Task;
use core::ptr::NonNull;

impl RuntimeState {
    /// Pushes a task for any worker, and makes sure that one takes it.
    ///
    /// # Safety
    ///
    /// The caller owns the task and gives it up.
    pub(super) unsafe fn inject(&self, injector: &Injector, task: NonNull<Task>) {
        // SAFETY: forwarded.
        unsafe { injector.push(task) };
        self.wake_for_tasks(0);
    }

    /// Returns true if there seem to be tasks that any worker may take, and that are no worker's.
    pub(super) fn has_shared_tasks(&self) -> bool {
        self.has_injected_tasks() || self.has_ranked_tasks()
    }

    /// Returns true if the injector seems to have tasks.
    #[inline]
    pub(super) fn has_injected_tasks(&self) -> bool {
        self.injector.as_ref().is_some_and(|injector| injector.len() > 0)
    }
}

impl Worker {
    /// Takes some tasks from the injector if this worker has no others to run, or `at_once`.
    #[inline]
    pub(super) fn take_injected(&mut self, at_once: bool) {
        if self.shared.has_injected_tasks()
            && let UnboundQueue::Stealing(deque) = &self.unbound.queue
            && (at_once || deque.len() == 0)
        {
            self.take_share_of_injected();
        }
    }

    #[inline(never)]
    fn take_share_of_injected(&mut self) {
        if self.search.is_idle() {
            self.begin_work();
        }
        if let (Some(injector), UnboundQueue::Stealing(deque)) =
            (&self.shared.injector, &mut self.unbound.queue)
        {
            let now = self.shared.platform.now();
            let count = deque.take_injected(injector, self.shared.slots.len(), now);
            if count > 0 {
                self.trace.queued(count);
                self.queue.ready |= UNBOUND;
            }
            if count > 1 {
                // The first of them may take long.
                self.share();
            }
            self.wake_for_injected();
        }
    }

    /// Wakes another worker if there are tasks for any worker that this one does not take next.
    pub(super) fn wake_for_shared_tasks(&self) {
        if !planted!("injected-left-to-none") {
            self.wake_for_injected();
        }
        let has_others = self.queue.ready & RINGS != 0 && !planted!("ranked-behind-others");
        if has_others && !self.shared.are_all_awake() && self.shared.has_ranked_tasks() {
            self.shared.wake_for_work(self.index);
        }
    }

    /// Wakes another worker if there are tasks in the injector, as this one is busy from now on.
    #[inline]
    pub(crate) fn wake_for_injected(&self) {
        if !self.shared.are_all_awake() && self.shared.has_injected_tasks() {
            self.shared.wake_for_tasks(self.index);
        }
    }
}
