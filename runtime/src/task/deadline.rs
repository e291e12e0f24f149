//! Deadlines: a task that has not started in time does not run.

use super::annotated::{Annotated, TaskAnnotation};
use super::group::{Membership, SealedMembership};
use super::spawner::sealed::{Origin, Spawn};
use super::{JoinError, TaskBuilder};
use crate::scheduler::{Context, Runtime, RuntimeState, Worker};
use core::time::Duration;

/// A moment on the clock of a runtime's platform; made by [`Runtime::deadline_in`] or
/// [`Context::deadline_in`]. Pass it to the follow-ups of a request that has to be answered in
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline {
    nanoseconds: u64,
}

impl Deadline {
    /// Returns the moment `limit` from now; the end of time if that is too far.
    pub(crate) fn after(shared: &RuntimeState, limit: Duration) -> Self {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Self { nanoseconds: shared.platform.now().saturating_add(limit) }
    }

    /// Returns the moment in nanoseconds, as [`Platform::now`](crate::platform::Platform::now)
    /// counts.
    pub fn nanoseconds(self) -> u64 {
        self.nanoseconds
    }

    /// Returns true if the moment has passed.
    pub(crate) fn has_passed(self, shared: &RuntimeState) -> bool {
        shared.platform.now() >= self.nanoseconds
    }
}

impl SealedMembership for Deadline {}

impl TaskAnnotation for Deadline {
    fn admit(&self, cx: &mut Worker) -> Result<(), JoinError> {
        let is_late = self.has_passed(cx.shared()) && !planted!("deadline-ignored");
        if is_late { Err(JoinError::DeadlineExceeded) } else { Ok(()) }
    }
}

impl Runtime {
    /// Returns the moment `limit` from now, for [`TaskBuilder::deadline`] and
    /// [`Handle::join_deadline`](crate::Handle::join_deadline). In a simulation the clock is
    /// virtual.
    pub fn deadline_in(&self, limit: Duration) -> Deadline {
        Deadline::after(self.shared(), limit)
    }
}

impl Context {
    /// Returns the moment `limit` from now, as [`Runtime::deadline_in`].
    pub fn deadline_in(&self, limit: Duration) -> Deadline {
        Deadline::after(self.worker.shared(), limit)
    }
}

impl<P: Spawn, A, M: Membership> TaskBuilder<P, A, M> {
    /// Sets a deadline: if the task has not started by then, its body is dropped, and its outcome
    /// is [`JoinError::DeadlineExceeded`]. Without a handle, that goes to the group or the
    /// runtime's hook.
    ///
    /// A task that waits for its objects or granules has not started. A task that has started runs
    /// to its end. An optimistic read has started when its result is there. Say this after
    /// [`of`](Self::of), and before [`claim`](Self::claim). Follow-ups have deadlines of their own.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::{JoinError, Runtime};
    ///
    /// let rt = Runtime::builder().workers(1).build()?;
    /// let deadline = rt.deadline_in(Duration::ZERO);
    /// let late = rt.task(()).deadline(deadline).submit(|(), _| unreachable!());
    /// assert!(matches!(late.join(), Err::<(), _>(JoinError::DeadlineExceeded)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deadline(self, deadline: Deadline) -> TaskBuilder<P, A, Annotated<M, Deadline>> {
        self.annotate(deadline)
    }

    /// Sets a [deadline](Self::deadline) that is `limit` from now.
    pub fn within(mut self, limit: Duration) -> TaskBuilder<P, A, Annotated<M, Deadline>> {
        let deadline = Deadline::after(self.spawner_mut().origin_mut().shared(), limit);
        self.annotate(deadline)
    }
}
