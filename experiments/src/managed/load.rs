//! The requests: what serving one is, and what is known when all are served.

use crate::ycsb::plan::Wrong;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

/// Ranks are below this.
const RANKS: u64 = 1000;

/// So many rounds of scrambling a number, the same for all: fixed work, not a fixed time, so that who is put off its core
/// does not get done what it does not do.
pub(super) fn work(number: u64, rounds: u64) -> u64 {
    (0..rounds).fold(number, |mixed, round| (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ round)
}

/// How urgent a request is, for one that comes after those that hold the workers.
pub(super) fn rank_of(number: u64) -> u16 {
    1 + (work(number, 2) >> 20) as u16 % RANKS as u16
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

/// Times count from here.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

thread_local! {
    /// Its address stands for the thread.
    static HERE: u8 = const { 0 };
}

/// A request, and what is known of it; times in nanoseconds. It has all that serving it takes, so that those who serve
/// others at the same time have nothing in common that anybody writes: what is measured would be that.
pub(super) struct Request {
    number: u64,
    rounds: u64,
    /// It holds its worker until this is true.
    gate: Option<Arc<AtomicBool>>,
    submitted: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    thread: AtomicUsize,
    served: AtomicU64,
    result: AtomicU64,
}

impl Request {
    fn new(number: u64, rounds: u64, gate: Option<Arc<AtomicBool>>) -> Arc<Self> {
        Arc::new(Self {
            number,
            rounds,
            gate,
            submitted: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            thread: AtomicUsize::new(0),
            served: AtomicU64::new(0),
            result: AtomicU64::new(0),
        })
    }

    /// Those that hold the workers come before all others.
    pub fn rank(&self) -> u16 {
        if self.gate.is_some() { 0 } else { rank_of(self.number) }
    }

    /// Serves it: each pool calls this once, on one of its threads.
    pub fn serve(&self) {
        // The clock first and last: all that the request itself costs is time in the request.
        let begun = Instant::now();
        self.begun.store(nanoseconds(begun), Relaxed);
        while self.gate.as_ref().is_some_and(|gate| !gate.load(Acquire)) {
            thread::yield_now();
        }
        self.result.store(work(self.number, self.rounds), Relaxed);
        self.thread.store(HERE.with(|here| ptr::from_ref(here).addr()), Relaxed);
        self.served.fetch_add(1, Relaxed);
        // Release pairs with the Acquire of `is_over`: who sees the end sees the rest.
        self.ended.store(nanoseconds(Instant::now()), Release);
    }

    fn is_over(&self) -> bool {
        self.ended.load(Acquire) != 0
    }
}

/// Nanoseconds from the origin; 0 is never.
fn nanoseconds(moment: Instant) -> u64 {
    moment.duration_since(*ORIGIN).as_nanos() as u64 + 1
}

/// Requests to be served. The first few may only hold the workers until all others have been submitted.
pub(super) struct Load {
    requests: Vec<Arc<Request>>,
    holds: usize,
    released: Arc<AtomicBool>,
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
    /// From the end of each request to the beginning of the next one on the same thread, where threads serve several.
    pub between: Option<Times>,
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
        LazyLock::force(&ORIGIN);
        let released = Arc::new(AtomicBool::new(false));
        let gate = |number| (number < holds).then(|| released.clone());
        let requests = 0..holds + requests;
        let requests = requests.map(|number| Request::new(number as u64, rounds, gate(number))).collect();
        Self { requests, holds, released }
    }

    /// Submits all requests and waits until they have been served. Where they do not `queue`, each waits with the one who
    /// submits it from the beginning on.
    pub fn run(&self, queue: bool, mut submit: impl FnMut(Arc<Request>)) -> Result<Served, Wrong> {
        let now = || nanoseconds(Instant::now());
        let began = now();
        for (number, request) in self.requests.iter().enumerate() {
            request.submitted.store(if queue { now() } else { began }, Relaxed);
            submit(request.clone());
            let holds = number + 1 == self.holds;
            while holds && self.requests[..self.holds].iter().any(|hold| hold.begun.load(Relaxed) == 0) {
                thread::yield_now();
            }
        }
        let released = now();
        self.released.store(true, Release);
        for request in &self.requests {
            while !request.is_over() {
                // Seldom, as it takes a core from a worker. When this is noticed does not matter.
                thread::sleep(Duration::from_millis(5));
            }
        }
        self.served(if self.holds > 0 { released } else { began }, queue)
    }

    fn served(&self, began: u64, several: bool) -> Result<Served, Wrong> {
        let (mut busy, mut end) = (0, 0);
        let (mut begun, mut waiting, mut completion) = (Vec::new(), Vec::new(), Vec::new());
        let mut by_thread = Vec::new();
        for request in &self.requests {
            let (times, result) = (request.served.load(Relaxed), request.result.load(Relaxed));
            if times != 1 || result != work(request.number, request.rounds) {
                let number = request.number;
                return Err(Wrong::new(format!("request {number}: served {times} times, result {result}")));
            }
            let [from, begins, ends] =
                [&request.submitted, &request.begun, &request.ended].map(|time| time.load(Relaxed));
            end = end.max(ends);
            by_thread.push((request.thread.load(Relaxed), begins, ends));
            if request.gate.is_none() {
                busy += ends - begins;
                waiting.push(begins - from);
                completion.push(ends - from);
                begun.push((begins, request.rank()));
            }
        }
        // Stable: those that began in the same nanosecond stay as they were, which is only wrong where nothing is done.
        begun.sort_by_key(|&(begins, _)| begins);
        by_thread.sort_unstable();
        let follows = by_thread.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        let between: Vec<_> = follows.map(|pair| pair[1].1.saturating_sub(pair[0].2)).collect();
        Ok(Served {
            makespan: Duration::from_nanos(end - began),
            busy: Duration::from_nanos(busy),
            waiting: Times::of(waiting),
            completion: Times::of(completion),
            between: (several && !between.is_empty()).then(|| Times::of(between)),
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
