//! Locks of intervals that were there before lines were, for comparison.
//!
//! Each worker has a slot, in which it says what its task locks, with a number that rises. It waits for those with smaller
//! numbers that it must not meet: so nobody waits in a circle. (DomLock's concurrent pool: see [`Control`].)

use super::ask::From;
use super::control::Control;
use super::rights::{Ranges, Rights};
use super::stand::{MOST_ROUNDS, Own, Stand};
use crate::scheduler::Shared;
use crate::sync::{Acquire, AtomicU64, AtomicUsize, Backoff, Padded, Relaxed, Release, SpinMutex};
use crate::task::{JoinError, quietly};
use alloc::boxed::Box;
use smallvec::SmallVec;

pub(super) struct Pool {
    control: Control,
    granules: u32,
    slots: Box<[Padded<Slot>]>,
    published: SpinMutex<Published>,
    /// Whose turn it is to get a task.
    turn: AtomicUsize,
    /// Nanoseconds that it takes to lock one interval more.
    interval: u64,
    /// Nanoseconds for which intervals were held, in the mean of the last ones.
    held: AtomicU64,
}

#[derive(Default)]
struct Slot {
    /// The number of what its worker locks; 0 if that is nothing.
    number: AtomicU64,
    /// When that was locked. For its worker alone.
    since: AtomicU64,
}

/// What was said last in each slot, and with which number.
struct Published {
    last: u64,
    rights: Box<[Rights]>,
}

/// So many times an interval is locked to see how long that takes.
const TRIALS: u64 = 64;

impl Pool {
    pub fn new(control: Control, shared: &Shared, granules: u32) -> Self {
        let workers = shared.seats.len();
        let mut pool = Self {
            control,
            granules,
            slots: (0..workers).map(|_| Padded(Slot::default())).collect(),
            published: SpinMutex::new(Published {
                last: 0,
                rights: (0..workers).map(|_| Rights::default()).collect(),
            }),
            turn: AtomicUsize::new(0),
            interval: 0,
            held: AtomicU64::new(0),
        };
        if control == Control::NumLock {
            pool.interval = pool.calibrate(shared);
        }
        pool
    }

    /// What it takes to lock one interval more, among as many others as there are workers.
    fn calibrate(&self, shared: &Shared) -> u64 {
        let time = |intervals: u32| {
            let mut ranges = Ranges::default();
            (0..intervals).for_each(|at| ranges.add(4 * at..4 * at + 1, true));
            let began = shared.platform.now();
            for _ in 0..TRIALS {
                let rights = ranges.clone().rights();
                self.lock(0, &rights, || ());
                for _ in 1..self.slots.len() {
                    core::hint::black_box(core::hint::black_box(&rights).meet(&Rights::default()));
                }
                self.unlock(0);
            }
            (shared.platform.now() - began) / TRIALS
        };
        (time(9).saturating_sub(time(1)) / 8).max(1)
    }

    /// The worker for the next task that may go anywhere.
    pub fn next(&self) -> usize {
        self.turn.fetch_add(1, Relaxed) % self.slots.len()
    }

    /// What is locked for a task that asks for this.
    pub fn widened(&self, asked: &Rights) -> Rights {
        match self.control {
            _ if asked.is_empty() => Rights::default(),
            Control::InOrder => asked.clone(),
            Control::Coarse => {
                let writes = asked.iter().any(|right| right.1);
                let mut all = Ranges::default();
                all.add(0..self.granules, writes);
                all.rights()
            }
            Control::NumLock => self.cheapest(asked),
            _ => asked.joined(1),
        }
    }

    /// The number of intervals with the least cost: what it takes to lock them, and to wait for others at what they cover.
    fn cheapest(&self, asked: &Rights) -> Rights {
        let held = self.held.load(Relaxed) * (self.slots.len() as u64 - 1);
        let options = (1..=asked.iter().len()).map(|most| {
            let joined = asked.joined(most);
            let wait = held as u128 * joined.count() as u128 / u128::from(self.granules.max(1));
            (most as u128 * u128::from(self.interval) + wait, joined)
        });
        options.min_by_key(|option| option.0).map(|option| option.1).unwrap_or_default()
    }

    /// Locks what a worker's task asks for. Waits by `wait` as long as others have it.
    pub fn lock(&self, worker: usize, rights: &Rights, mut wait: impl FnMut()) {
        if self.control != Control::InOrder {
            return self.lock_more(worker, rights, rights, &mut wait);
        }
        let mut all = Ranges::default();
        for (granule, write) in rights.granules() {
            let mut one = Ranges::default();
            one.add(granule..granule + 1, write);
            all.add(granule..granule + 1, write);
            self.lock_more(worker, &one.rights(), &all.clone().rights(), &mut wait);
        }
    }

    /// Locks this as well, so that the worker has all that. (Nobody waits in a circle if all of them ask for more in the same
    /// order: who waits for somebody at a granule has asked for it later, and for none behind it.)
    fn lock_more(&self, worker: usize, rights: &Rights, all: &Rights, wait: &mut impl FnMut()) {
        let mut before: SmallVec<[(usize, u64); 16]> = SmallVec::new();
        {
            let mut published = self.published.lock();
            published.last += 1;
            for (other, slot) in self.slots.iter().enumerate().filter(|&(other, _)| other != worker) {
                // Acquire pairs with the Release of `unlock`: what is not locked any more was left before.
                let number = slot.0.number.load(Acquire);
                if number != 0 && rights.meet(&published.rights[other]) {
                    before.push((other, number));
                }
            }
            published.rights[worker].clone_from(all);
            let number = &self.slots[worker].0.number;
            // Relaxed: this worker alone sets it. Whoever waits for any of this goes by the first number.
            if number.load(Relaxed) == 0 {
                // Release: who waits for the worker's last task may see this instead of the end of that.
                number.store(published.last, if planted!("pool-unordered") { Relaxed } else { Release });
            }
        }
        for (other, number) in before {
            let mut backoff = Backoff::new();
            // Acquire: as above.
            while self.slots[other].0.number.load(Acquire) == number {
                backoff.wait();
                wait();
            }
        }
    }

    pub fn unlock(&self, worker: usize) {
        self.slots[worker].0.number.store(0, Release);
    }

    /// The task of that worker has what it asked for.
    pub fn begin(&self, worker: usize, shared: &Shared) {
        if self.control == Control::NumLock {
            self.slots[worker].0.since.store(shared.platform.now(), Relaxed);
        }
    }

    /// It is over.
    pub fn end(&self, worker: usize, shared: &Shared) {
        if self.control == Control::NumLock {
            let held = shared.platform.now().saturating_sub(self.slots[worker].0.since.load(Relaxed));
            let mean = self.held.load(Relaxed);
            self.held.store(mean - mean / 16 + held / 16, Relaxed);
        }
        self.unlock(worker);
    }
}

impl Stand {
    /// Waits on this worker until the task has all that it claims, where a [pool](super::pool) of locks keeps tasks apart.
    pub(super) fn obtain(&self, own: &mut Own, pool: &Pool, worker: usize) -> Result<(), JoinError> {
        loop {
            let asked = match &mut own.plan {
                None => own.rights.clone(),
                Some(_) if own.rounds == MOST_ROUNDS => self.everything().rights(),
                Some(plan) => self.ask(plan, &Rights::default(), From::Worker(worker)).0?.rights(),
            };
            own.rounds += 1;
            let locked = pool.widened(&asked);
            self.lines().lock(worker, &locked);
            own.locked = Some(worker as u32);
            // What is locked without need is not the task's.
            let settled = match &mut own.plan {
                None => Some(asked),
                Some(_) if own.rounds > MOST_ROUNDS => Some(asked),
                Some(plan) => {
                    let asked = self.ask(plan, &locked, From::Holder).0?;
                    asked.are_within(&locked).then(|| asked.rights())
                }
            };
            if let Some(rights) = settled {
                own.rights = rights;
                quietly(|| own.plan = None);
                pool.begin(worker, &self.lines().shared);
                return Ok(());
            }
            own.locked = None;
            pool.unlock(worker);
        }
    }
}
