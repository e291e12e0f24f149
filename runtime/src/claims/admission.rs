//! The seam between claims and what keeps their tasks apart.
//!
//! A claim asks its [`Admission`] for its granules, and the admission decides where and when its
//! task runs. There are two: [`QueueLocks`], the product, and the baselines, which only the feature
//! `baselines` compiles. A build has exactly one [`TableAdmission`], so that each call is static;
//! with the feature, that type branches once per call.

use super::claim_state::{ClaimInner, ClaimState};
use super::grant::Dispatcher;
use super::granules::GranuleTable;
use super::queue_lock::WakeList;
use crate::scheduler::Worker;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Task};
use core::ptr::NonNull;

/// Admits tasks to the granules that they claim.
///
/// Each claim calls [`enter`](Self::enter) once. Its task calls [`start`](Self::start) when it is
/// about to run its body, and [`leave`](Self::leave) at its end, cancelled or not. Between a
/// successful `start` and `leave` no task with a conflicting claim is there.
pub(super) trait Admission: Default {
    /// From where a plan peeks at granules.
    type PeekSite: Copy;
    /// The site of plans that the queue locks run.
    const ANYWHERE: Self::PeekSite;

    /// Takes over a parked task, and sends it at once or when it is granted its granules.
    ///
    /// # Safety
    ///
    /// As for [`ClaimState::enter`].
    unsafe fn enter(&self, state: NonNull<ClaimState>, spawner: &mut impl Origin);

    /// Makes the deferred claim of a task that a worker has got to.
    ///
    /// # Safety
    ///
    /// As for [`ClaimState::is_ready`].
    unsafe fn is_ready(state: NonNull<ClaimState>, task: NonNull<Task>, cx: &mut Worker) -> bool;

    /// Lets the task run, if necessary after a wait on this worker.
    ///
    /// # Errors
    ///
    /// If the task's plan has panicked.
    fn start(&self, state: &ClaimState, inner: &mut ClaimInner, worker: usize) -> Result<(), JoinError>;

    /// Releases all that the task was granted.
    fn leave(&self, state: &ClaimState, inner: &mut ClaimInner, spawner: &mut impl Origin);

    /// Returns true if a plan may read the granule until it calls [`end_peek`](Self::end_peek).
    fn begin_peek(&self, table: &GranuleTable, granule: u32, site: Self::PeekSite) -> bool;

    /// Ends a peek. Returns the waiters that were granted the granule by that.
    fn end_peek(&self, table: &GranuleTable, granule: u32, site: Self::PeekSite) -> WakeList;

    /// Returns true if the writes of each granule are counted, as its version.
    fn counts_writes(&self) -> bool;
}

/// The admission that this build is compiled for.
#[cfg(not(feature = "baselines"))]
pub(super) type TableAdmission = QueueLocks;
#[cfg(feature = "baselines")]
pub(super) type TableAdmission = super::baselines::AnyAdmission;

/// Admission by a FIFO queue lock for each granule: see [`queue_lock`](super::queue_lock). The
/// locks are in the slots of the table, beside what else concerns their granules.
#[derive(Default)]
pub(super) struct QueueLocks;

/// Plans peek from anywhere: the queue lock counts them as readers.
#[derive(Clone, Copy)]
pub(super) struct Anywhere;

impl Admission for QueueLocks {
    type PeekSite = Anywhere;
    const ANYWHERE: Anywhere = Anywhere;

    unsafe fn enter(&self, state: NonNull<ClaimState>, spawner: &mut impl Origin) {
        let mut dispatcher = Dispatcher::new(spawner);
        // SAFETY: the caller's promise is that of `ClaimState::enter`: the state is the spawner's
        // until one of the branches gives it away, and each does so last.
        unsafe {
            if state.as_ref().may_defer() {
                ClaimState::enter_deferred(state, &mut dispatcher);
            } else if state.as_ref().inner().plan.is_some() {
                dispatcher.push_planned(state);
            } else {
                ClaimState::enqueue(state, &mut dispatcher);
            }
            ClaimState::confirm_plans(&mut dispatcher);
        }
    }

    unsafe fn is_ready(state: NonNull<ClaimState>, task: NonNull<Task>, cx: &mut Worker) -> bool {
        // SAFETY: forwarded.
        unsafe { ClaimState::is_ready(state, task, cx) }
    }

    fn start(&self, _: &ClaimState, _: &mut ClaimInner, _: usize) -> Result<(), JoinError> {
        // All was granted before the task was sent, or when its worker got to it.
        Ok(())
    }

    fn leave(&self, state: &ClaimState, inner: &mut ClaimInner, spawner: &mut impl Origin) {
        if let Some(home) = inner.home {
            state.table().affinity.task_finished(home as usize);
        }
        let mut dispatcher = Dispatcher::at_end(spawner);
        match inner.deferred {
            // It was cancelled before it was granted anything.
            Some(deferred) => state.cancel_deferred(inner, deferred, &mut dispatcher),
            None => state.release_at_end(&inner.rights, &mut dispatcher),
        }
        dispatcher.spawner.offer();
    }

    fn begin_peek(&self, table: &GranuleTable, granule: u32, _: Anywhere) -> bool {
        table.queue_lock(granule).lock().peek()
    }

    fn end_peek(&self, table: &GranuleTable, granule: u32, _: Anywhere) -> WakeList {
        table.queue_lock(granule).lock().release()
    }

    fn counts_writes(&self) -> bool {
        true
    }
}
