//! Tasks that have room: they keep permits until they are over.

use super::group::{Alone, Membership, Of, SealedMembership};
use super::spawner::sealed::Origin;
use super::{JoinError, Sink, Task};
use crate::limit::{Limit, Permit};
use crate::scheduler::Worker;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// The permits of a task.
#[derive(Default)]
pub(crate) struct Permits {
    first: Option<Permit>,
    #[expect(clippy::box_collection, reason = "most tasks have one permit, and the descriptor is small")]
    others: Option<Box<Vec<Permit>>>,
}

impl Permits {
    pub fn add(&mut self, permit: Permit) {
        if self.first.is_none() {
            self.first = Some(permit);
        } else {
            self.others.get_or_insert_default().push(permit);
        }
    }
}

/// The membership of a task that has room: in a group or none, and its permits.
pub struct WithRoom<M> {
    membership: M,
    permits: Permits,
}

impl<M> WithRoom<M> {
    pub(super) fn new(membership: M, permits: Permits) -> Self {
        Self { membership, permits }
    }
}

impl<M: Membership> SealedMembership for WithRoom<M> {}

impl<M: Membership> Membership for WithRoom<M> {
    type Sink = RoomSink<M::Sink>;

    fn sink(self) -> Self::Sink {
        RoomSink { sink: self.membership.sink(), permits: self.permits }
    }
}

/// A membership of a task that may reserve room: it has none yet.
pub trait MayReserve: Membership {
    /// Returns the limit of the group.
    #[doc(hidden)]
    fn limit(&self) -> Option<&Limit>;
}

impl MayReserve for Alone {
    fn limit(&self) -> Option<&Limit> {
        None
    }
}

impl MayReserve for Of<'_> {
    fn limit(&self) -> Option<&Limit> {
        self.group_limit()
    }
}

/// Returns the permits when the task is over, then completes another sink.
pub struct RoomSink<K> {
    sink: K,
    permits: Permits,
}

impl<K: Sink<()>> Sink<()> for RoomSink<K> {
    fn enter(&self, origin: &mut impl Origin) {
        self.sink.enter(origin);
    }

    unsafe fn is_ready(this: *const Self, task: NonNull<Task>, cx: &mut Worker) -> bool {
        // SAFETY: this function's contract, for a field of the sink.
        unsafe { K::is_ready(&raw const (*this).sink, task, cx) }
    }

    fn start(&self, cx: &mut Worker) -> Result<(), JoinError> {
        self.sink.start(cx)
    }

    fn pause(&self, cx: &mut Worker) {
        self.sink.pause(cx);
    }

    fn resume(&self, cx: &mut Worker) {
        self.sink.resume(cx);
    }

    fn name(&self) -> Option<&'static str> {
        self.sink.name()
    }

    fn make_room(&mut self) {
        if planted!("room-after-outcome") {
            return;
        }
        drop(core::mem::take(&mut self.permits));
    }

    fn complete(mut self, outcome: Result<(), JoinError>, cx: &mut Worker) {
        self.make_room();
        self.sink.complete(outcome, cx);
    }

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        drop(self.permits);
        self.sink.refuse(origin, why);
    }
}
