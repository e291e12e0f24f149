//! Tasks that are spawned when a group is over.
//!
//! Such a task is made at once, by whatever makes its kind, of a spawner that does not send it: it leaves it with the
//! group. So nothing can be missing when the group is over, and a shutdown waits for the task as for any other.

use super::tally::{End, Outcome, Tally};
use super::{Group, Immediate};
use crate::task::builder::{Options, sealed::Spawn};
use crate::task::waiting::{Waiting, leaves_its_task};
use crate::task::{Meta, Spawner, Task};
use alloc::sync::Arc;
use core::ptr::NonNull;

/// A spawner whose task waits for the end of a group.
pub struct After<P: Spawner> {
    spawner: P,
    tally: NonNull<Tally>,
    /// Where the task finds the group's outcome.
    outcome: Option<Arc<Outcome>>,
    /// The task touches nothing that an epoch would have to keep, and so begins its operation later.
    is_free: bool,
}

impl<P: Immediate> After<P> {
    pub(crate) fn new(spawner: P, group: Group) -> Self {
        group.check(spawner.shared());
        Self { spawner, tally: group.into_parts().0, outcome: None, is_free: false }
    }

    /// Where the task, which has no objects, will find the group's outcome.
    pub(crate) fn ask_for_outcome(&mut self) -> Arc<Outcome> {
        self.is_free = true;
        self.outcome.insert(Arc::default()).clone()
    }
}

impl<P: Spawner> After<P> {
    fn leave(&mut self, task: Waiting) {
        // SAFETY: this has the group's own ticket.
        unsafe { self.tally.as_ref().store(End::Task(task, self.outcome.take())) };
    }
}

impl<P: Spawner> Drop for After<P> {
    /// Gives the group's own ticket back. If the group has no members any more, the task is sent here.
    fn drop(&mut self) {
        // SAFETY: this has the group's own ticket, and gives it back once.
        unsafe {
            if self.tally.as_ref().give_back(1)
                && let Some(waiting) = Tally::end(self.tally, self.spawner.shared(), self.spawner.on_worker())
            {
                waiting.send(&mut self.spawner);
            }
        }
    }
}

impl<P: Spawner> Spawn for After<P> {
    leaves_its_task!();

    fn admit(&mut self, options: &Options) -> Meta {
        if !self.is_free {
            return self.spawner.admit(options);
        }
        self.shared().epochs.begin_wait();
        options.rank_of(Meta::new(0, options.priority.unwrap_or(self.priority()), options.cost))
    }

    unsafe fn send_bare(&mut self, task: NonNull<Task>, options: &Options, _: Meta) {
        let waiting = if self.is_free { Waiting::Free } else { Waiting::Bare };
        self.leave(waiting(task, *options));
    }
}
