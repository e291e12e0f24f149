//! The requests: what serving one is, and what is known when all are served.

use crate::ycsb::plan::Wrong;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::atomic::{Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Ranks are below this.
const RANKS: u64 = 1000;

/// So many rounds of scrambling a number, the same for all: fixed work, not a fixed time, so that who is put off its core
/// does not get done what it does not do.
fn work(number: u64, rounds: u64) -> u64 {
    (0..rounds).fold(number, |mixed, round| (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ round)
}

/// How many rounds take that long on this machine: in the best of some trials, as others may have the core meanwhile.
pub(super) fn rounds_of(time: Duration) -> u64 {
    const ROUNDS: u64 = 100_000;
    let trial = |number| {
        let began = Instant::now();
        black_box(work(black_box(number), ROUNDS));
        began.elapsed()
    };
    let best = (0..20).map(trial).min().unwrap_or_default();
    (ROUNDS as f64 * time.as_secs_f64() / best.as_secs_f64().max(1e-9)) as u64
}

/// What is known of one request; times in nanoseconds from the beginning.
#[derive(Default)]
struct Record {
    submitted: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    served: AtomicU64,
    result: AtomicU64,
}

/// Requests to be served. The first few may only hold the workers until all others have been submitted.
pub(super) struct Load {
    records: Vec<Record>,
    holds: usize,
    rounds: u64,
    released: AtomicBool,
    left: AtomicUsize,
    origin: Instant,
    caller: Thread,
}

/// What was measured, when all requests have been served.
pub(super) struct Served {
    /// From the first submission, or from the release of those who were held, to the end of the last request.
    pub makespan: Duration,
    /// The sum of the times of all requests.
    pub busy: Duration,
    /// From each request's submission to its beginning, and to its end.
    pub waiting: Times,
    pub completion: Times,
    /// The ranks in the order in which they were begun.
    pub order: Vec<u16>,
}

/// Nanoseconds, the least first.
pub(super) struct Times(Vec<u64>);

impl Times {
    fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time that `percent` of all do not exceed.
    pub fn percentile(&self, percent: f64) -> Duration {
        let rank = (self.0.len() as f64 * percent / 100.0).ceil() as usize;
        Duration::from_nanos(self.0[rank.clamp(1, self.0.len()) - 1])
    }
}

impl Load {
    pub fn new(requests: usize, holds: usize, rounds: u64) -> Self {
        Self {
            records: (0..holds + requests).map(|_| Record::default()).collect(),
            holds,
            rounds,
            released: AtomicBool::new(holds == 0),
            left: AtomicUsize::new(holds + requests),
            origin: Instant::now(),
            caller: thread::current(),
        }
    }

    /// The rank of a request; those that hold the workers come before all others.
    pub fn rank(&self, number: usize) -> u16 {
        if number < self.holds { 0 } else { 1 + (work(number as u64, 2) >> 20) as u16 % RANKS as u16 }
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Has a request served: each pool calls this once for each, on one of its threads.
    pub fn serve(&self, number: usize) {
        let record = &self.records[number];
        record.begun.store(self.now(), Relaxed);
        while number < self.holds && !self.released.load(Acquire) {
            thread::yield_now();
        }
        record.result.store(work(number as u64, self.rounds), Relaxed);
        record.served.fetch_add(1, Relaxed);
        record.ended.store(self.now(), Relaxed);
        // Release pairs with the Acquire of `run`: who sees that none is left sees all records.
        if self.left.fetch_sub(1, AcqRel) == 1 {
            self.caller.unpark();
        }
    }

    /// Submits all requests and waits until they have been served. Where they do not `queue`, each waits with the one who
    /// submits it from the beginning on.
    pub fn run(&self, queue: bool, mut submit: impl FnMut(usize)) -> Result<Served, Wrong> {
        let began = self.now();
        for (number, record) in self.records.iter().enumerate() {
            record.submitted.store(if queue { self.now() } else { began }, Relaxed);
            submit(number);
            let holds = number + 1 == self.holds;
            while holds && self.records[..self.holds].iter().any(|hold| hold.begun.load(Relaxed) == 0) {
                thread::yield_now();
            }
        }
        let released = self.now();
        self.released.store(true, Release);
        while self.left.load(Acquire) > 0 {
            thread::park();
        }
        self.served(if self.holds > 0 { released } else { began })
    }

    fn served(&self, began: u64) -> Result<Served, Wrong> {
        let (mut busy, mut end) = (0, 0);
        let (mut begun, mut waiting, mut completion) = (Vec::new(), Vec::new(), Vec::new());
        for (number, record) in self.records.iter().enumerate() {
            let (times, result) = (record.served.load(Relaxed), record.result.load(Relaxed));
            if times != 1 || result != work(number as u64, self.rounds) {
                return Err(Wrong::new(format!("request {number}: served {times} times, result {result}")));
            }
            let [from, begins, ends] =
                [&record.submitted, &record.begun, &record.ended].map(|time| time.load(Relaxed));
            end = end.max(ends);
            if number >= self.holds {
                busy += ends - begins;
                waiting.push(begins - from);
                completion.push(ends - from);
                begun.push((begins, self.rank(number)));
            }
        }
        // Stable: those that began in the same nanosecond stay as they were, which is only wrong where nothing is done.
        begun.sort_by_key(|&(begins, _)| begins);
        Ok(Served {
            makespan: Duration::from_nanos(end - began),
            busy: Duration::from_nanos(busy),
            waiting: Times::of(waiting),
            completion: Times::of(completion),
            order: begun.into_iter().map(|(_, rank)| rank).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        let times = Times::of((1..=200).rev().collect());
        let found = [0.0, 50.0, 99.0, 99.5, 100.0].map(|percent| times.percentile(percent).as_nanos());
        assert_eq!(found, [1, 100, 198, 199, 200]);
        assert_eq!(Times::of(vec![7]).percentile(50.0), Duration::from_nanos(7));
    }
}
