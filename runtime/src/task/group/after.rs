//! Tasks that run after a group.
//!
//! The descriptor of such a task is written at the spawn, and stored with the group instead of
//! being pushed. So the task cannot lack memory when the group is over, and a shutdown waits for it
//! as for any other task.

use super::Group;
use super::state::{Continuation, GroupFailure, GroupState};
use crate::task::options::Options;
use crate::task::pending::PendingTask;
use crate::task::spawner::{CompleteTask, Route, sealed::Spawn};
use crate::task::{Meta, Spawner};
use alloc::sync::Arc;
use core::ptr::NonNull;

/// A spawner whose tasks wait until a group is over.
pub struct After<P: Spawner> {
    spawner: P,
    /// The group's own ticket, until it is returned.
    ticket: Option<NonNull<GroupState>>,
    /// Receives the first failure of a member, if the task asks for it.
    outcome: Option<Arc<GroupFailure>>,
    /// True if the task has no objects that an epoch would have to keep: it gets its epoch when it
    /// is sent.
    is_admitted_later: bool,
}

impl<P: Spawner> After<P> {
    pub(crate) fn new(spawner: P, group: Group) -> Self {
        group.check(spawner.shared());
        Self { spawner, ticket: Some(group.into_parts().0), outcome: None, is_admitted_later: false }
    }

    /// Returns the place where the task, which has no objects, finds the first failure of a member.
    pub(crate) fn request_failure(&mut self) -> Arc<GroupFailure> {
        self.is_admitted_later = true;
        self.outcome.insert(Arc::default()).clone()
    }

    /// Returns the group's own ticket. If it was the last, the group is over: returns the stored
    /// task.
    fn close(&mut self) -> Option<PendingTask> {
        let state = self.ticket.take()?;
        // SAFETY: the ticket is the group's own and is returned once, so the state is alive until
        // `give_back`. After the last ticket `complete` is called once.
        unsafe {
            state
                .as_ref()
                .give_back(1)
                .then(|| GroupState::complete(state, self.spawner.shared(), self.spawner.on_worker()))
                .flatten()
        }
    }
}

impl<P: Spawner> Drop for After<P> {
    /// Returns the ticket of a builder that is dropped without a spawn.
    fn drop(&mut self) {
        let waiting = self.close();
        debug_assert!(waiting.is_none(), "a spawn stored a task and was not finished");
    }
}

impl<P: Spawner> Spawn for After<P> {
    type Origin = P;

    fn origin_mut(&mut self) -> &mut P {
        &mut self.spawner
    }

    fn admit_task(&mut self, options: &Options) -> Meta {
        if !self.is_admitted_later {
            return self.spawner.admit(options);
        }
        self.spawner.shared().epochs.begin_wait();
        let priority = options.priority.unwrap_or(self.spawner.priority());
        options.rank_of(Meta::new(0, priority, options.cost))
    }

    unsafe fn deliver(&mut self, complete: CompleteTask, options: &Options, route: Route<'_>) {
        let task = complete.task;
        let waiting = match route {
            Route::Unbound if self.is_admitted_later => PendingTask::UnboundLater(task, *options),
            route => PendingTask::new(task, options, route),
        };
        let state = self.ticket.expect("the ticket is there until the spawn is finished");
        // SAFETY: this spawner has the group's own ticket.
        unsafe { state.as_ref().store(Continuation::Task(waiting, self.outcome.take())) };
    }

    /// Returns the group's own ticket. If all members are over already, the task is sent at once.
    fn finish(mut self) {
        if let Some(waiting) = self.close() {
            waiting.send(&mut self.spawner);
        }
    }
}
