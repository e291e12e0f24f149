//! Tasks that are spawned when a group is over.
//!
//! Such a task is made at once, by whatever makes its kind, of a spawner that does not send it: it leaves it with the
//! group. So nothing can be missing when the group is over, and a shutdown waits for the task as for any other.

use super::tally::{End, Outcome, Tally};
use super::{Group, Immediate};
use crate::annotation::Priority;
use crate::memory::SizeClass;
use crate::object::Fetch;
use crate::scheduler::Shared;
use crate::task::builder::{Options, sealed::Spawn};
use crate::task::{MOST_OBJECTS, Meta, Spawner, Task};
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

/// A task that waits for the end of a group, as its spawner left it: admitted and complete.
pub(super) enum Waiting {
    /// It goes where these say, or to this home if there is one.
    Ready(NonNull<Task>, Options, Option<usize>),
    /// It has no objects, and is bound to nothing unless these say so.
    Bare(NonNull<Task>, Options),
    /// The same, of no epoch yet.
    Free(NonNull<Task>, Options),
    /// As many envoys go to their homes.
    Envoys([(usize, NonNull<Task>); MOST_OBJECTS], usize),
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

impl Waiting {
    /// Sends the task on its way: the group is over.
    pub(super) fn send(self, spawner: &mut impl Spawn) {
        // SAFETY: the task, or its envoys, were left with the group by a spawner that owned them, and are the caller's.
        unsafe {
            match self {
                Self::Ready(task, options, home) => {
                    let &Task { meta, fetch, .. } = task.as_ref();
                    spawner.send(task, &options, home, meta, fetch);
                }
                Self::Bare(task, options) => spawner.send_bare(task, &options, task.as_ref().meta),
                Self::Free(mut task, options) => {
                    let begun = Options { operation: true, ..options };
                    let meta = task.as_ref().meta.in_epoch(spawner.admit(&begun).epoch());
                    task.as_mut().meta = meta;
                    // After it was counted in its epoch: a shutdown sees one of the two.
                    spawner.shared().epochs.end_wait();
                    spawner.send_bare(task, &options, meta);
                }
                Self::Envoys(mut envoys, count) => spawner.enlist(&mut envoys[..count]),
            }
        }
    }
}

impl<P: Spawner> Spawn for After<P> {
    /// It is not the task that runs now which gets to the objects.
    const IN_TASK: bool = false;

    fn shared(&self) -> &Arc<Shared> {
        self.spawner.shared()
    }

    fn on_worker(&self) -> Option<usize> {
        self.spawner.on_worker()
    }

    fn priority(&self) -> Priority {
        self.spawner.priority()
    }

    fn allocate(&mut self, class: SizeClass) -> Option<NonNull<Task>> {
        self.spawner.allocate(class)
    }

    unsafe fn give_back(&mut self, class: SizeClass, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        unsafe { self.spawner.give_back(class, task) };
    }

    unsafe fn draw_ticket(&mut self, tally: NonNull<Tally>) {
        // SAFETY: by the caller's promise.
        unsafe { self.spawner.draw_ticket(tally) };
    }

    fn admit(&mut self, options: &Options) -> Meta {
        if !self.is_free {
            return self.spawner.admit(options);
        }
        self.shared().epochs.begin_wait();
        options.rank_of(Meta::new(0, options.priority.unwrap_or(self.priority()), options.cost))
    }

    unsafe fn send(
        &mut self,
        task: NonNull<Task>,
        options: &Options,
        home: Option<usize>,
        _: Meta,
        _: Fetch,
    ) {
        self.leave(Waiting::Ready(task, *options, home));
    }

    unsafe fn note(&mut self, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        unsafe { self.spawner.note(task) };
    }

    unsafe fn send_bare(&mut self, task: NonNull<Task>, options: &Options, _: Meta) {
        let waiting = if self.is_free { Waiting::Free } else { Waiting::Bare };
        self.leave(waiting(task, *options));
    }

    unsafe fn enlist(&mut self, tasks: &mut [(usize, NonNull<Task>)]) {
        let mut envoys = [tasks[0]; MOST_OBJECTS];
        envoys[..tasks.len()].copy_from_slice(tasks);
        self.leave(Waiting::Envoys(envoys, tasks.len()));
    }
}
