//! What the members of a group share.

use crate::scheduler::Shared;
use crate::sync::{AcqRel, Acquire, AtomicU64, Relaxed, Release, SpinMutex, UnsafeCell};
use crate::task::failure::FirstFailure;
use crate::task::waiting::Waiting;
use crate::task::{JoinError, Promise, quietly};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// How many tickets are out, and what comes when none is.
pub struct Tally {
    tickets: AtomicU64,
    /// Belongs to the group until it gives its ticket back, then to whoever gives back the last.
    end: UnsafeCell<End>,
    failure: FirstFailure,
}

/// What comes when a group is over.
pub(super) enum End {
    Nothing,
    Promise(Promise<()>),
    /// A task that is told of failures if it has given a place for that.
    Task(Waiting, Option<Arc<Outcome>>),
}

/// Where a continuation finds the first failure of a member.
pub(crate) type Outcome = SpinMutex<Option<JoinError>>;

impl Tally {
    /// Of a new group, which has the only ticket.
    pub(super) fn new() -> NonNull<Self> {
        let tally = Self {
            tickets: AtomicU64::new(1),
            end: UnsafeCell::new(End::Nothing),
            failure: FirstFailure::default(),
        };
        NonNull::from(Box::leak(Box::new(tally)))
    }

    /// Draws tickets. The caller has one, or borrows from one who has.
    pub(crate) fn draw(&self, count: u64) {
        // Nothing is ordered by this: the caller's own ticket keeps the group from being over.
        self.tickets.fetch_add(count, Relaxed);
    }

    /// Gives tickets back. Whether these were the last: then the group is over, and the caller has to [end](Self::end) it.
    #[must_use]
    pub(super) fn give_back(&self, count: u64) -> bool {
        // Release: what members did, or the group has stored, comes before the end. Acquire pairs with that of all others,
        // for the one who ends the group.
        let order = if planted!("group-ended-unordered") { Relaxed } else { AcqRel };
        let before = if planted!("group-counted-twice") {
            let before = self.tickets.load(Acquire);
            self.tickets.store(before - count, Release);
            before
        } else {
            self.tickets.fetch_sub(count, order)
        };
        debug_assert!(before >= count, "more tickets come back than were drawn");
        before == count
    }

    /// Notes a failure of a member, which has its ticket still: the first is kept, and the others are told to the hook.
    pub(super) fn fail(&self, error: JoinError, shared: &Shared, worker: Option<usize>) {
        self.failure.note(error, shared, worker);
    }

    /// Says what comes when the group is over, other than a task, and gives the group's ticket back.
    ///
    /// # Safety
    ///
    /// The ticket is the group's own, which is gone.
    pub(super) unsafe fn close(tally: NonNull<Self>, end: End, shared: &Shared) {
        // SAFETY: by the caller's promise, and until the ticket is back the tally is there.
        unsafe {
            tally.as_ref().store(end);
            if tally.as_ref().give_back(1) {
                let waiting = Self::end(tally, shared, None);
                debug_assert!(waiting.is_none(), "no task was stored");
            }
        }
    }

    /// Says what comes when the group is over.
    ///
    /// # Safety
    ///
    /// The caller has the group's own ticket.
    pub(super) unsafe fn store(&self, end: End) {
        // SAFETY: until the group's own ticket is given back this is the caller's.
        self.end.with_mut(|place| unsafe { *place = end });
    }

    /// Does what comes when the group is over, and frees the tally. A task that was to wait is returned, to be sent.
    ///
    /// # Safety
    ///
    /// The caller has given back the last ticket.
    #[cold]
    #[must_use]
    pub(super) unsafe fn end(
        tally: NonNull<Self>,
        shared: &Shared,
        worker: Option<usize>,
    ) -> Option<Waiting> {
        // SAFETY: made from a box by `new`; there is no ticket left, so nobody else knows of it.
        let tally = unsafe { Box::from_raw(tally.as_ptr()) };
        let failure = tally.failure.take();
        // SAFETY: as above.
        let end = tally.end.with_mut(|end| unsafe { core::mem::replace(&mut *end, End::Nothing) });
        let (waiting, untold) = match end {
            End::Nothing => (None, failure),
            End::Promise(promise) => {
                // It calls a waker, and may drop the outcome.
                quietly(|| promise.settle(failure.map_or(Ok(()), Err)));
                (None, None)
            }
            End::Task(waiting, None) => (Some(waiting), failure),
            End::Task(waiting, Some(place)) => {
                *place.lock() = failure;
                (Some(waiting), None)
            }
        };
        if let Some(error) = untold {
            shared.report(error, worker);
        }
        waiting
    }
}
