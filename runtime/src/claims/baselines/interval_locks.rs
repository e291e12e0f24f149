//! Locks of intervals of granules: Coarse, InOrder, DomLock and NumLock.
//!
//! Each worker has a slot, in which it publishes what its task locks, with an ascending number. It
//! waits for conflicting slots with smaller numbers, so that waiting follows one order and cannot
//! deadlock. (This is DomLock's concurrent pool: see [`Control`].)

use super::any_admission::PeekSite;
use super::control::Control;
use crate::claims::claim_state::{ClaimInner, ClaimState, MAX_PLAN_RUNS};
use crate::claims::rights::{Ranges, Rights};
use crate::scheduler::RuntimeState;
use crate::sync::{Acquire, AtomicU64, AtomicUsize, Backoff, Padded, Relaxed, Release, SpinMutex};
use crate::task::{JoinError, quietly};
use alloc::boxed::Box;
use smallvec::SmallVec;

pub(in crate::claims) struct IntervalLocks {
    control: Control,
    granules: u32,
    slots: Box<[Padded<WorkerLock>]>,
    published: SpinMutex<Published>,
    /// Deals out tasks that are bound to no worker.
    round_robin: AtomicUsize,
    /// Nanoseconds to lock one more interval.
    interval_ns: u64,
    /// Moving average of the nanoseconds for which intervals were held.
    held_ns: AtomicU64,
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

/// How often an interval is locked to measure the time.
const TRIALS: u64 = 64;

impl IntervalLocks {
    pub fn new(control: Control, shared: &RuntimeState, granules: u32) -> Self {
        let workers = shared.slots.len();
        let mut locks = Self {
            control,
            granules,
            slots: (0..workers).map(|_| Padded(WorkerLock::default())).collect(),
            published: SpinMutex::new(Published {
                last_number: 0,
                rights: (0..workers).map(|_| Rights::default()).collect(),
            }),
            round_robin: AtomicUsize::new(0),
            interval_ns: 0,
            held_ns: AtomicU64::new(0),
        };
        if control == Control::NumLock {
            locks.interval_ns = locks.calibrate(shared);
        }
        locks
    }

    /// Measures the nanoseconds to lock one more interval beside one lock of each other worker.
    fn calibrate(&self, shared: &RuntimeState) -> u64 {
        let time = |intervals: u32| {
            let mut ranges = Ranges::default();
            (0..intervals).for_each(|at| ranges.add(4 * at..4 * at + 1, true));
            let began = shared.platform.now();
            for _ in 0..TRIALS {
                let rights = ranges.clone().rights();
                self.lock(0, &rights, || ());
                for _ in 1..self.slots.len() {
                    core::hint::black_box(core::hint::black_box(&rights).conflicts_with(&Rights::default()));
                }
                self.unlock(0);
            }
            shared.platform.now().saturating_sub(began) / TRIALS
        };
        (time(9).saturating_sub(time(1)) / 8).max(1)
    }

    /// Returns the worker for the next task that is bound to none.
    pub fn next_worker(&self) -> usize {
        self.round_robin.fetch_add(1, Relaxed) % self.slots.len()
    }

    /// Returns what is locked for a task that asks for these granules.
    fn cover(&self, request: &Rights) -> Rights {
        match self.control {
            _ if request.is_empty() => Rights::default(),
            Control::InOrder => request.clone(),
            Control::Coarse => {
                let writes = request.iter().any(|right| right.1);
                let mut all = Ranges::default();
                all.add(0..self.granules, writes);
                all.rights()
            }
            Control::NumLock => self.cheapest_cover(request),
            _ => request.coalesced(1),
        }
    }

    /// Returns the number of intervals with the least cost: the time to lock them, and the expected
    /// wait for other tasks at what they cover.
    fn cheapest_cover(&self, request: &Rights) -> Rights {
        let held = self.held_ns.load(Relaxed) * (self.slots.len() as u64 - 1);
        let options = (1..=request.iter().len()).map(|most| {
            let cover = request.coalesced(most);
            let wait = held as u128 * cover.count() as u128 / u128::from(self.granules.max(1));
            (most as u128 * u128::from(self.interval_ns) + wait, cover)
        });
        options.min_by_key(|option| option.0).map(|option| option.1).unwrap_or_default()
    }

    /// Locks these granules for the task of a worker, and lets simulated time pass in a wait.
    pub fn lock_on(&self, worker: usize, rights: &Rights, shared: &RuntimeState) {
        self.lock(worker, rights, || _ = shared.yield_to_others(true));
    }

    /// Locks these granules for the task of a worker. Calls `wait` again and again while other
    /// tasks have them.
    fn lock(&self, worker: usize, rights: &Rights, mut wait: impl FnMut()) {
        if self.control != Control::InOrder {
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
        let mut before: SmallVec<[(usize, u64); 16]> = SmallVec::new();
        {
            let mut published = self.published.lock();
            published.last_number += 1;
            for (other, slot) in self.slots.iter().enumerate().filter(|&(other, _)| other != worker) {
                // Acquire pairs with the Release of `unlock`: this worker sees what was written
                // under a lock that is gone.
                let number = slot.0.number.load(Acquire);
                if number != 0 && rights.conflicts_with(&published.rights[other]) {
                    before.push((other, number));
                }
            }
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
        for (other, number) in before {
            let mut backoff = Backoff::new();
            // Acquire pairs with the Release of `unlock` or of the next lock of that worker.
            while self.slots[other].0.number.load(Acquire) == number {
                backoff.wait();
                wait();
            }
        }
    }

    pub fn unlock(&self, worker: usize) {
        self.slots[worker].0.number.store(0, Release);
    }

    /// Begins to measure how long the task of a worker holds its granules.
    fn begin(&self, worker: usize, shared: &RuntimeState) {
        if self.control == Control::NumLock {
            self.slots[worker].0.since.store(shared.platform.now(), Relaxed);
        }
    }

    /// Unlocks what the task of a worker holds, and ends the measurement.
    pub fn end(&self, worker: usize, shared: &RuntimeState) {
        if self.control == Control::NumLock {
            let held = shared.platform.now().saturating_sub(self.slots[worker].0.since.load(Relaxed));
            let mean = self.held_ns.load(Relaxed);
            self.held_ns.store(mean - mean / 16 + held / 16, Relaxed);
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
            let locked = locks.cover(&request);
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
