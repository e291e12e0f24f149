//! The admission of builds with baselines: the queue locks or one of the baselines.

use super::interval_locks::IntervalLocks;
use super::parked_locks::ParkedLocks;
use super::toggle::Toggle;
use crate::claims::admission::{Admission, Anywhere, QueueLocks};
use crate::claims::claim_state::{ClaimInner, ClaimState};
use crate::claims::granules::GranuleTable;
use crate::claims::queue_lock::WakeList;
use crate::claims::rights::Ranges;
use crate::scheduler::Worker;
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Task, quietly};
use alloc::boxed::Box;
use core::ptr::NonNull;

/// An admission that is chosen when the granules are made.
#[derive(Default)]
pub(in crate::claims) enum AnyAdmission {
    #[default]
    Fifo,
    Intervals(IntervalLocks),
    Parked(Box<ParkedLocks>),
    Toggle(Box<Toggle>),
}

/// What a baseline has granted to a task.
#[derive(Default)]
pub(in crate::claims) struct BaselineGrant {
    /// What the task has locked: the worker whose slot in the interval locks says that, or the
    /// number of the lock in the table of the parked locks.
    pub locked: Option<u32>,
    /// The [buckets](super::toggle) that are locked for the task; empty if its host or thief has
    /// the lock.
    pub buckets: Option<Box<[u32]>>,
}

/// From where a plan peeks.
#[derive(Clone, Copy)]
pub(in crate::claims) enum PeekSite {
    /// At queue locks, or at buckets that no task has locked.
    Anywhere,
    /// From this worker, which has locked no interval.
    Worker(usize),
    /// From a worker that has locked intervals, and cannot lock more without a deadlock.
    Holder,
}

impl Admission for AnyAdmission {
    type PeekSite = PeekSite;
    const ANYWHERE: PeekSite = PeekSite::Anywhere;

    unsafe fn enter(&self, state: NonNull<ClaimState>, spawner: &mut impl Origin) {
        match self {
            // SAFETY: the caller of `ClaimState::enter` has parked the task in the state, which the
            // task owns from now on.
            Self::Fifo => unsafe { QueueLocks.enter(state, spawner) },
            Self::Intervals(locks) => {
                // SAFETY: the spawner owns the state until the task is sent below.
                let task = unsafe { state.as_ref().inner() }.task.take();
                let task = task.expect("a claim has a parked task until it is sent");
                if task.is_unbound() {
                    task.send_to(locks.next_worker(), false, spawner);
                } else {
                    task.send(spawner);
                }
            }
            // SAFETY: the caller of `ClaimState::enter` has parked the task in the state, which the
            // task owns from now on.
            Self::Parked(_) => unsafe { ClaimState::enter_parked(state, spawner) },
            // SAFETY: as above.
            Self::Toggle(toggle) => unsafe { ClaimState::enter_bucket(state, toggle, spawner) },
        }
    }

    unsafe fn is_ready(state: NonNull<ClaimState>, task: NonNull<Task>, cx: &mut Worker) -> bool {
        // SAFETY: the task, which the caller owns, owns the state.
        let admission = &unsafe { state.as_ref() }.table().admission;
        let Self::Parked(locks) = admission else {
            // SAFETY: forwarded.
            return unsafe { QueueLocks::is_ready(state, task, cx) };
        };
        // SAFETY: forwarded; these are the locks of the claim's granules.
        unsafe { ClaimState::is_ready_parked(state, NonNull::from(&**locks), task, cx) }
    }

    fn start(&self, state: &ClaimState, inner: &mut ClaimInner, worker: usize) -> Result<(), JoinError> {
        let outcome = match self {
            Self::Fifo => return QueueLocks.start(state, inner, worker),
            Self::Intervals(locks) => state.acquire_intervals(inner, locks, worker),
            Self::Parked(locks) => state.lock_on_worker(inner, locks),
            Self::Toggle(toggle) if inner.baseline.buckets.is_none() => {
                state.acquire_buckets(inner, toggle, worker)
            }
            Self::Toggle(_) => Ok(()),
        };
        if outcome.is_err() {
            // The plan holds user values: drop them before the failure is reported.
            quietly(|| inner.plan = None);
        }
        outcome
    }

    fn leave(&self, state: &ClaimState, inner: &mut ClaimInner, spawner: &mut impl Origin) {
        match self {
            Self::Fifo => QueueLocks.leave(state, inner, spawner),
            Self::Intervals(locks) => {
                // A cancelled task has locked nothing.
                if let Some(worker) = inner.baseline.locked {
                    locks.end(worker as usize, &state.table().shared);
                }
            }
            Self::Parked(locks) => locks.leave(state, inner, spawner),
            Self::Toggle(toggle) => toggle.leave(inner, &state.table().shared),
        }
    }

    fn begin_peek(&self, table: &GranuleTable, granule: u32, site: PeekSite) -> bool {
        match (self, site) {
            (Self::Fifo, _) => QueueLocks.begin_peek(table, granule, Anywhere),
            (Self::Intervals(locks), PeekSite::Worker(worker)) => {
                let mut ranges = Ranges::default();
                ranges.add(granule..granule + 1, false);
                locks.lock_on(worker, &ranges.rights(), &table.shared);
                true
            }
            (Self::Intervals(_), _) => false,
            (Self::Parked(locks), _) => locks.begin_peek(granule),
            (Self::Toggle(toggle), _) => toggle.begin_peek(granule),
        }
    }

    fn end_peek(&self, table: &GranuleTable, granule: u32, site: PeekSite) -> WakeList {
        match (self, site) {
            (Self::Fifo, _) => return QueueLocks.end_peek(table, granule, Anywhere),
            (Self::Intervals(locks), PeekSite::Worker(worker)) => locks.unlock(worker),
            (Self::Intervals(_), _) => {}
            (Self::Parked(locks), _) => locks.end_peek(),
            (Self::Toggle(toggle), _) => toggle.end_peek(granule),
        }
        WakeList::default()
    }

    fn counts_writes(&self) -> bool {
        matches!(self, Self::Fifo)
    }
}
