//! What locks of intervals cover for a task.

use crate::claims::rights::{Ranges, Rights};
use crate::sync::{AtomicU64, Relaxed};

/// What is locked for a task that claims some granules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Granularity {
    /// All granules: one lock.
    All,
    /// The granules that the task claims, and no others.
    Exact,
    /// One interval, from the first to the last granule of the task, as in DomLock.
    Hull,
    /// As many intervals as cost least, as in NumLock.
    Cheapest,
}

/// Computes what is locked for each task.
pub(super) struct Cover {
    granularity: Granularity,
    granules: u32,
    workers: u64,
    /// Nanoseconds to lock one more interval.
    interval_ns: u64,
    /// Moving average of the nanoseconds for which intervals were held.
    held_ns: AtomicU64,
}

/// How often an interval is locked to measure the time.
const TRIALS: u64 = 64;

impl Cover {
    pub fn new(granularity: Granularity, workers: usize, granules: u32) -> Self {
        Self { granularity, granules, workers: workers as u64, interval_ns: 0, held_ns: AtomicU64::new(0) }
    }

    /// Returns true if the cover depends on how long intervals are held.
    pub fn is_measured(&self) -> bool {
        self.granularity == Granularity::Cheapest
    }

    /// Measures the nanoseconds to lock one more interval beside one lock of each other worker.
    /// `lock_once` locks these granules and unlocks them.
    pub fn calibrate(&mut self, now: impl Fn() -> u64, mut lock_once: impl FnMut(&Rights)) {
        let mut time = |intervals: u32| {
            let mut ranges = Ranges::default();
            (0..intervals).for_each(|at| ranges.add(4 * at..4 * at + 1, true));
            let began = now();
            for _ in 0..TRIALS {
                let rights = ranges.clone().rights();
                lock_once(&rights);
                for _ in 1..self.workers {
                    core::hint::black_box(core::hint::black_box(&rights).conflicts_with(&Rights::default()));
                }
            }
            now().saturating_sub(began) / TRIALS
        };
        self.interval_ns = (time(9).saturating_sub(time(1)) / 8).max(1);
    }

    /// Records for how long the intervals of a task were held.
    pub fn note_held(&self, held_ns: u64) {
        // Relaxed: an estimate. Two threads at a time may lose one of the two values.
        let mean = self.held_ns.load(Relaxed);
        self.held_ns.store(mean - mean / 16 + held_ns / 16, Relaxed);
    }

    /// Returns what is locked for a task that asks for these granules.
    pub fn of(&self, request: &Rights) -> Rights {
        match self.granularity {
            _ if request.is_empty() => Rights::default(),
            Granularity::All => {
                let mut all = Ranges::default();
                all.add(0..self.granules, request.has_writes());
                all.rights()
            }
            Granularity::Exact => request.clone(),
            Granularity::Hull => request.coalesced(1),
            Granularity::Cheapest => self.cheapest(request),
        }
    }

    /// Returns the number of intervals with the least cost: the time to lock them, and the expected
    /// wait for other tasks at what they cover.
    fn cheapest(&self, request: &Rights) -> Rights {
        let held = self.held_ns.load(Relaxed) * (self.workers - 1);
        let options = (1..=request.iter().len()).map(|most| {
            let cover = request.coalesced(most);
            let wait = held as u128 * cover.count() as u128 / u128::from(self.granules.max(1));
            (most as u128 * u128::from(self.interval_ns) + wait, cover)
        });
        options.min_by_key(|option| option.0).map(|option| option.1).unwrap_or_default()
    }
}
