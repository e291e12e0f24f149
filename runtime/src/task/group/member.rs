//! Members of a group, and tasks of no group.

use super::Group;
use super::state::GroupState;
use crate::limit::Limit;
use crate::scheduler::Worker;
use crate::task::handle::Detached;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Sink, Task};
use core::ptr::NonNull;

/// Says whether a task belongs to a group.
pub trait Membership: sealed::Sealed {
    /// Receives the end of the task.
    #[doc(hidden)]
    type Sink: Sink<()>;
    /// Makes the sink for a spawn. A ticket of the group is out until the spawn ends.
    #[doc(hidden)]
    fn sink(self) -> Self::Sink;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A task of no group.
pub struct Alone;

/// A member of a group.
#[derive(Clone, Copy)]
pub struct Of<'g> {
    state: NonNull<GroupState>,
    /// A ticket is out for as long as the borrow. `None` for the group of a running task.
    group: Option<&'g Group>,
}

// SAFETY: `GroupState` is shared by all workers: see `Member`. `Group` is `Sync`.
unsafe impl Send for Of<'_> {}

impl sealed::Sealed for Alone {}
impl sealed::Sealed for Of<'_> {}

impl Membership for Alone {
    type Sink = Detached;

    #[inline(always)]
    fn sink(self) -> Detached {
        Detached
    }
}

impl<'g> Of<'g> {
    pub(crate) fn group(group: &'g Group) -> Self {
        Self { state: group.state, group: Some(group) }
    }

    /// # Safety
    ///
    /// A ticket of the group is out for `'g`.
    pub(crate) unsafe fn state(state: NonNull<GroupState>) -> Self {
        Self { state, group: None }
    }

    pub(crate) fn group_limit(&self) -> Option<&Limit> {
        self.group.and_then(Group::task_limit)
    }
}

impl Membership for Of<'_> {
    type Sink = Member;

    #[inline(always)]
    fn sink(self) -> Member {
        Member { state: self.state }
    }
}

/// The sink of a member. It holds a ticket after `enter`; failures go to the group.
pub struct Member {
    state: NonNull<GroupState>,
}

// SAFETY: `GroupState` is shared by all workers: its fields are atomics, a lock, and a cell guarded
// by the tickets.
unsafe impl Send for Member {}

impl Sink<()> for Member {
    #[inline(always)]
    fn enter(&self, origin: &mut impl Origin) {
        // SAFETY: the spawn borrows a group or a member, which has a ticket.
        unsafe { origin.draw_ticket(self.state) };
    }

    #[inline(always)]
    fn start(&self, cx: &mut Worker) -> Result<(), JoinError> {
        cx.groups.set_current(Some(self.state));
        Ok(())
    }

    #[inline(always)]
    fn pause(&self, cx: &mut Worker) {
        cx.groups.set_current(None);
    }

    #[inline(always)]
    fn resume(&self, cx: &mut Worker) {
        cx.groups.set_current(Some(self.state));
    }

    #[inline(always)]
    fn complete(self, outcome: Result<(), JoinError>, cx: &mut Worker) {
        cx.groups.set_current(None);
        // SAFETY: the member still has its ticket, which goes to the worker's cache here.
        unsafe {
            if let Err(error) = outcome {
                self.state.as_ref().note_failure(error, cx.shared(), Some(cx.index()));
            }
            cx.take_ticket(self.state);
        }
    }

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        // SAFETY: the spawn borrows a group or a member, which has a ticket.
        let state = unsafe { self.state.as_ref() };
        state.note_failure(why, origin.shared(), origin.on_worker());
    }
}

/// Two sinks for one task: the first receives the outcome, the second only that the task is over.
pub(crate) struct SinkPair<K, D>(pub K, pub D);

impl<R, K: Sink<R>, D: Sink<()>> Sink<R> for SinkPair<K, D> {
    #[inline(always)]
    fn enter(&self, origin: &mut impl Origin) {
        self.1.enter(origin);
    }

    #[inline(always)]
    unsafe fn is_ready(this: *const Self, task: NonNull<Task>, cx: &mut Worker) -> bool {
        // SAFETY: this function's contract, for the second field. The first sink is a handle's,
        // which is always ready.
        unsafe { D::is_ready(&raw const (*this).1, task, cx) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn start(&self, cx: &mut Worker) -> Result<(), JoinError> {
        // Both are called in any case.
        let second = self.1.start(cx);
        self.0.start(cx).and(second)
    }

    #[inline(always)]
    fn pause(&self, cx: &mut Worker) {
        self.0.pause(cx);
        self.1.pause(cx);
    }

    #[inline(always)]
    fn resume(&self, cx: &mut Worker) {
        self.0.resume(cx);
        self.1.resume(cx);
    }

    fn name(&self) -> Option<&'static str> {
        self.1.name().or(self.0.name())
    }

    #[inline(always)]
    fn make_room(&mut self) {
        self.1.make_room();
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn complete(mut self, outcome: Result<R, JoinError>, cx: &mut Worker) {
        self.make_room();
        self.0.complete(outcome, cx);
        self.1.complete(Ok(()), cx);
    }

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        self.0.refuse(origin, why);
    }
}
