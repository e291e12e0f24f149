//! Locks of intervals of granules: Coarse, InOrder, DomLock and NumLock.
//!
//! Each worker has a slot, in which it publishes what its task locks, with an ascending number. It
//! waits for conflicting slots with smaller numbers, so that waiting follows one order and cannot
//! deadlock. (This is DomLock's concurrent pool: see [`Control`](super::Control).)

use super::any_admission::PeekSite;
use super::cover::{Cover, Granularity};
use crate::claims::claim_state::{ClaimInner, ClaimState, MAX_PLAN_RUNS};
use crate::claims::rights::{Ranges, Rights};
use crate::scheduler::RuntimeState;
use crate::sync::{Acquire, AtomicU64, AtomicUsize, Backoff, Padded, Relaxed, Release, SpinMutex};
use crate::task::{JoinError, quietly};
use alloc::boxed::Box;
use smallvec::SmallVec;

pub(in crate::claims) struct IntervalLocks {
    cover: Cover,
    /// Granules are locked one after the other.
    is_stepwise: bool,
    slots: Box<[Padded<WorkerLock>]>,
    published: SpinMutex<Published>,
    /// Deals out tasks that are bound to no worker.
    round_robin: AtomicUsize,
}

/// What one worker has locked.
#[derive(Default)]
struct WorkerLock {
    /// The number of the worker's lock; 0 if it has none.
    number: AtomicU64,
    /// When it was locked, in nanoseconds. Only its worker accesses this.
    since: AtomicU64,
}

/// The last lock in each slot.
struct Published {
    last_number: u64,
    rights: Box<[Rights]>,
}

impl IntervalLocks {
    /// Creates locks with a slot for each worker.
    pub fn new(granularity: Granularity, shared: &RuntimeState, granules: u32) -> Self {
        Self::with_slots(granularity, shared, granules, shared.slots.len())
    }

    /// Creates locks with this number of slots, of which the first ones are those of workers.
    pub fn with_slots(granularity: Granularity, shared: &RuntimeState, granules: u32, slots: usize) -> Self {
        let workers = shared.slots.len();
        let mut cover = Cover::new(granularity, workers, granules);
        if cover.is_measured() {
            let locks = Self::with_cover(Cover::new(granularity, workers, granules), granularity, slots);
            let lock_once = |rights: &Rights| {
                locks.lock(0, rights, || ());
                locks.unlock(0);
            };
            cover.calibrate(|| shared.platform.now(), lock_once);
        }
        Self::with_cover(cover, granularity, slots)
    }

    fn with_cover(cover: Cover, granularity: Granularity, slots: usize) -> Self {
        Self {
            cover,
            is_stepwise: granularity == Granularity::Exact,
            slots: (0..slots).map(|_| Padded(WorkerLock::default())).collect(),
            published: SpinMutex::new(Published {
                last_number: 0,
                rights: (0..slots).map(|_| Rights::default()).collect(),
            }),
            round_robin: AtomicUsize::new(0),
        }
    }

    /// Returns the worker for the next task that is bound to none.
    pub fn next_worker(&self) -> usize {
        self.round_robin.fetch_add(1, Relaxed) % self.slots.len()
    }

    /// Locks what these granules need for the task of a worker, and returns what is locked. To be
    /// [ended](Self::end).
    pub fn lock_cover(&self, worker: usize, request: &Rights, shared: &RuntimeState) -> Rights {
        let cover = self.cover.of(request);
        self.lock_on(worker, &cover, shared);
        self.begin(worker, shared);
        cover
    }

    /// Locks these granules in the last slot, which is free, unless another slot conflicts.
    pub fn try_lock_last(&self, rights: &Rights) -> bool {
        let (last, mut published) = (self.slots.len() - 1, self.published.lock());
        if self.conflicting(last, rights, &published).next().is_some() {
            return false;
        }
        self.publish(last, rights, &mut published);
        true
    }

    /// Unlocks what is locked in the last slot.
    pub fn unlock_last(&self) {
        self.unlock(self.slots.len() - 1);
    }

    /// Locks these granules for the task of a worker, and lets simulated time pass in a wait.
    pub fn lock_on(&self, worker: usize, rights: &Rights, shared: &RuntimeState) {
        self.lock(worker, rights, || _ = shared.yield_to_others(true));
    }

    /// Locks these granules for the task of a worker. Calls `wait` again and again while other
    /// tasks have them.
    fn lock(&self, worker: usize, rights: &Rights, mut wait: impl FnMut()) {
        if !self.is_stepwise {
            return self.extend_lock(worker, rights, rights, &mut wait);
        }
        let mut all = Ranges::default();
        for (granule, write) in rights.granules() {
            let mut one = Ranges::default();
            one.add(granule..granule + 1, write);
            all.add(granule..granule + 1, write);
            self.extend_lock(worker, &one.rights(), &all.clone().rights(), &mut wait);
        }
    }

    /// Locks `rights` besides what the worker has locked, which together is `all`. (If all workers
    /// extend their locks in ascending order they cannot deadlock: a worker that waits for another
    /// one at a granule came there later, and waits for none that is behind it.)
    fn extend_lock(&self, worker: usize, rights: &Rights, all: &Rights, wait: &mut impl FnMut()) {
        let before: SmallVec<[(usize, u64); 16]> = {
            let mut published = self.published.lock();
            let before = self.conflicting(worker, rights, &published).collect();
            self.publish(worker, all, &mut published);
            before
        };
        for (other, number) in before {
            let mut backoff = Backoff::new();
            // Acquire pairs with the Release of `unlock` or of the next lock of that worker.
            while self.slots[other].0.number.load(Acquire) == number {
                backoff.wait();
                wait();
            }
        }
    }

    /// Returns the other slots that conflict with these rights, and the numbers of their locks.
    fn conflicting(
        &self,
        worker: usize,
        rights: &Rights,
        published: &Published,
    ) -> impl Iterator<Item = (usize, u64)> {
        self.slots.iter().enumerate().filter_map(move |(other, slot)| {
            // Acquire pairs with the Release of `unlock`: this worker sees what was written under a
            // lock that is gone.
            let number = slot.0.number.load(Acquire);
            let conflicts = other != worker && number != 0 && rights.conflicts_with(&published.rights[other]);
            conflicts.then_some((other, number))
        })
    }

    /// Publishes all that a worker locks.
    fn publish(&self, worker: usize, all: &Rights, published: &mut Published) {
        published.last_number += 1;
        published.rights[worker].clone_from(all);
        let number = &self.slots[worker].0.number;
        // Relaxed: only this worker sets it. An extended lock keeps its first number.
        if number.load(Relaxed) == 0 {
            // Release: a worker that waits for the last task of this worker may see this store
            // instead of that of `unlock`.
            let order = if planted!("interval-locks-unordered") { Relaxed } else { Release };
            number.store(published.last_number, order);
        }
    }

    pub fn unlock(&self, worker: usize) {
        self.slots[worker].0.number.store(0, Release);
    }

    /// Begins to measure how long the task of a worker holds its granules.
    fn begin(&self, worker: usize, shared: &RuntimeState) {
        if self.cover.is_measured() {
            self.slots[worker].0.since.store(shared.platform.now(), Relaxed);
        }
    }

    /// Unlocks what the task of a worker holds, and ends the measurement.
    pub fn end(&self, worker: usize, shared: &RuntimeState) {
        if self.cover.is_measured() {
            let since = self.slots[worker].0.since.load(Relaxed);
            self.cover.note_held(shared.platform.now().saturating_sub(since));
        }
        self.unlock(worker);
    }
}

impl ClaimState {
    /// Waits on this worker until the task has locked all that it claims.
    ///
    /// # Errors
    ///
    /// If the task's plan has panicked.
    pub(super) fn acquire_intervals(
        &self,
        inner: &mut ClaimInner,
        locks: &IntervalLocks,
        worker: usize,
    ) -> Result<(), JoinError> {
        loop {
            let request = match &mut inner.plan {
                None => inner.rights.clone(),
                Some(_) if inner.plan_runs == MAX_PLAN_RUNS => self.all_granules().rights(),
                Some(plan) => self.run_plan(plan, &Rights::default(), PeekSite::Worker(worker)).0?.rights(),
            };
            inner.plan_runs += 1;
            let locked = locks.cover.of(&request);
            locks.lock_on(worker, &locked, &self.table().shared);
            inner.baseline.locked = Some(worker as u32);
            // The task may access only what it asked for, not all that is locked.
            let confirmed = match &mut inner.plan {
                None => Some(request),
                Some(_) if inner.plan_runs > MAX_PLAN_RUNS => Some(request),
                Some(plan) => {
                    let ranges = self.run_plan(plan, &locked, PeekSite::Holder).0?;
                    ranges.are_covered_by(&locked).then(|| ranges.rights())
                }
            };
            if let Some(rights) = confirmed {
                inner.rights = rights;
                quietly(|| inner.plan = None);
                locks.begin(worker, &self.table().shared);
                return Ok(());
            }
            inner.baseline.locked = None;
            locks.unlock(worker);
        }
    }
}
