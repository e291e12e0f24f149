//! What keeps tasks of different hosts apart.
//!
//! As published by default: a lock for each outer bucket. Or locks of intervals, as in DomLock or
//! NumLock, which readers share, and which are as fine as the granules. Each host has a slot there,
//! and so has the plan that peeks.

use super::super::cover::Granularity;
use super::super::interval_locks::IntervalLocks;
use super::super::ticket_lock::TicketLock;
use super::Toggle;
use crate::claims::claim_state::ClaimInner;
use crate::claims::rights::{Ranges, Rights};
use crate::scheduler::RuntimeState;
use alloc::boxed::Box;

/// Locks of intervals for hosts and plans.
pub(super) struct HostIntervals {
    locks: IntervalLocks,
    /// Held while a plan peeks with the last slot.
    peeking: TicketLock,
}

impl HostIntervals {
    pub fn new(granularity: Granularity, shared: &RuntimeState, granules: u32) -> Self {
        let locks = IntervalLocks::with_slots(granularity, shared, granules, shared.slots.len() + 1);
        Self { locks, peeking: TicketLock::default() }
    }

    /// Returns true if no task writes the granule, and no other plan peeks. Then no task will write
    /// it until [`end_peek`](Self::end_peek).
    pub fn begin_peek(&self, granule: u32) -> bool {
        let mut one = Ranges::default();
        one.add(granule..granule + 1, false);
        let peeks = self.peeking.try_lock();
        let locks = peeks && self.locks.try_lock_last(&one.rights());
        if peeks && !locks {
            self.peeking.unlock();
        }
        locks
    }

    pub fn end_peek(&self) {
        self.locks.unlock_last();
        self.peeking.unlock();
    }
}

impl Toggle {
    /// Locks what a task claims, on this worker. Returns what is locked, unless that is the
    /// buckets.
    pub(super) fn lock_task(
        &self,
        worker: usize,
        covered: &[u32],
        rights: &Rights,
        shared: &RuntimeState,
    ) -> Option<Rights> {
        let mut cover = None;
        self.counters.timed(&self.counters.lock_wait_ns, shared, || match &self.intervals {
            None => self.lock(covered, shared),
            Some(intervals) => cover = Some(intervals.locks.lock_cover(worker, rights, shared)),
        });
        cover
    }

    /// Unlocks what [`lock_task`](Self::lock_task) has locked.
    pub(super) fn unlock_task(&self, worker: usize, covered: &[u32], shared: &RuntimeState) {
        match &self.intervals {
            None => self.unlock(covered),
            Some(intervals) => intervals.locks.end(worker, shared),
        }
    }

    /// Records what a task has locked that is about to run.
    pub(super) fn grant(&self, inner: &mut ClaimInner, worker: usize, covered: Box<[u32]>) {
        inner.baseline.locked = self.intervals.is_some().then_some(worker as u32);
        inner.baseline.buckets = Some(covered);
    }

    /// Unlocks what was recorded for a task that is over.
    pub fn leave(&self, inner: &mut ClaimInner, shared: &RuntimeState) {
        let covered = inner.baseline.buckets.take().unwrap_or_default();
        match inner.baseline.locked.take() {
            Some(worker) => self.unlock_task(worker as usize, &covered, shared),
            None => self.unlock(&covered),
        }
    }

    /// Locks a whole bucket for its host.
    pub(super) fn lock_bucket(&self, number: u32, shared: &RuntimeState) {
        self.lock_task(number as usize, &[number], &self.all_of(&[number]), shared);
    }

    /// Unlocks a whole bucket.
    pub(super) fn unlock_bucket(&self, number: u32, shared: &RuntimeState) {
        self.unlock_task(number as usize, &[number], shared);
    }

    /// Returns true if a plan may read the granule until it calls [`end_peek`](Self::end_peek).
    pub fn begin_peek(&self, granule: u32) -> bool {
        match &self.intervals {
            None => self.bucket(self.bucket_of(granule)).lock.try_lock(),
            Some(intervals) => intervals.begin_peek(granule),
        }
    }

    /// Ends a peek.
    pub fn end_peek(&self, granule: u32) {
        match &self.intervals {
            None => self.unlock(&[self.bucket_of(granule)]),
            Some(intervals) => intervals.end_peek(),
        }
    }
}
