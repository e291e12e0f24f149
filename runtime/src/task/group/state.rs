//! The state that the members of a group share.

use crate::scheduler::RuntimeState;
use crate::sync::{AcqRel, Acquire, AtomicU64, Relaxed, Release, SpinMutex, UnsafeCell};
use crate::task::failure::FirstFailure;
use crate::task::pending::PendingTask;
use crate::task::{JoinError, Promise};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// The number of tickets that are out, the first failure, and what happens when no ticket is out.
pub struct GroupState {
    tickets: AtomicU64,
    /// Belongs to the group until it returns its ticket, then to the thread that returns the last
    /// one.
    continuation: UnsafeCell<Continuation>,
    failure: FirstFailure,
}

/// What happens when a group is over.
pub(super) enum Continuation {
    Nothing,
    Promise(Promise<()>),
    /// A task, and the place for the first failure if the task asks for it.
    Task(PendingTask, Option<Arc<GroupFailure>>),
}

/// The place where a continuation finds the first failure of a member.
pub(crate) type GroupFailure = SpinMutex<Option<JoinError>>;

impl GroupState {
    /// Makes the state of a new group, which has the only ticket.
    pub(super) fn new() -> NonNull<Self> {
        let state = Self {
            tickets: AtomicU64::new(1),
            continuation: UnsafeCell::new(Continuation::Nothing),
            failure: FirstFailure::default(),
        };
        NonNull::from(Box::leak(Box::new(state)))
    }

    /// Draws tickets. The caller has one, or borrows from a holder.
    pub(crate) fn draw(&self, count: u64) {
        // Relaxed: the caller's ticket keeps the group from being over, and nothing else depends on
        // it.
        self.tickets.fetch_add(count, Relaxed);
    }

    /// Returns tickets. Returns true if they were the last: the group is over, and the caller must
    /// [complete](Self::complete) it.
    #[must_use]
    pub(super) fn give_back(&self, count: u64) -> bool {
        // Release: what a member did, or the group stored, comes before the continuation. Acquire
        // pairs with the Release of all other threads, for the one that returns the last ticket.
        let order = if planted!("group-ended-unordered") { Relaxed } else { AcqRel };
        let before = if planted!("group-counted-twice") {
            let before = self.tickets.load(Acquire);
            self.tickets.store(before - count, Release);
            before
        } else {
            self.tickets.fetch_sub(count, order)
        };
        debug_assert!(before >= count, "more tickets are returned than were drawn");
        before == count
    }

    /// Records a failure of a member that still has its ticket. The first is kept, the others are
    /// reported to the hook.
    pub(super) fn note_failure(&self, error: JoinError, shared: &RuntimeState, worker: Option<usize>) {
        self.failure.note(error, shared, worker);
    }

    /// Stores a continuation other than a task, and returns the group's ticket.
    ///
    /// # Safety
    ///
    /// The ticket is the group's own, which the caller gives up.
    pub(super) unsafe fn close(state: NonNull<Self>, continuation: Continuation, shared: &RuntimeState) {
        // SAFETY: this function's contract; the state is alive until the ticket is returned.
        unsafe {
            state.as_ref().store(continuation);
            if state.as_ref().give_back(1) {
                let waiting = Self::complete(state, shared, None);
                debug_assert!(waiting.is_none(), "no task was stored");
            }
        }
    }

    /// Stores the continuation.
    ///
    /// # Safety
    ///
    /// The caller has the group's own ticket.
    pub(super) unsafe fn store(&self, continuation: Continuation) {
        // SAFETY: until the group's own ticket is returned, the continuation is the caller's.
        self.continuation.with_mut(|place| unsafe { *place = continuation });
    }

    /// Runs the continuation and frees the state. A stored task is returned for the caller to send.
    ///
    /// # Safety
    ///
    /// The caller has returned the last ticket, and calls this once.
    #[cold]
    #[must_use]
    pub(super) unsafe fn complete(
        state: NonNull<Self>,
        shared: &RuntimeState,
        worker: Option<usize>,
    ) -> Option<PendingTask> {
        // SAFETY: `new` made it from a box. No ticket is left, so no other thread refers to it.
        let state = unsafe { Box::from_raw(state.as_ptr()) };
        let failure = state.failure.take();
        // SAFETY: no other thread refers to the state.
        let continuation = state.continuation.with_mut(|continuation| unsafe {
            core::mem::replace(&mut *continuation, Continuation::Nothing)
        });
        let (waiting, unreported) = match continuation {
            Continuation::Nothing => (None, failure),
            Continuation::Promise(promise) => {
                promise.settle(failure.map_or(Ok(()), Err));
                (None, None)
            }
            Continuation::Task(waiting, None) => (Some(waiting), failure),
            Continuation::Task(waiting, Some(place)) => {
                *place.lock() = failure;
                (Some(waiting), None)
            }
        };
        if let Some(error) = unreported {
            shared.report(error, worker);
        }
        waiting
    }
}
