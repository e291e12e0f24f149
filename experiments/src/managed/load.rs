//! The requests: the work of serving one, and the results when all have been served.

use super::times::Times;
use crate::computation::work;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;

/// Ranks of requests are 1 to this.
const RANKS: u64 = 1000;

/// Returns the rank of a request that does not hold a worker.
pub(super) fn rank_of(number: u64) -> u16 {
    1 + (work(number, 2) >> 20) as u16 % RANKS as u16
}

/// The origin of all times.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

thread_local! {
    /// A byte whose address identifies the thread.
    static THREAD_MARK: u8 = const { 0 };
}

/// A request, and the record of serving it; times in nanoseconds. It contains all data that serving
/// it writes, so that workers share no written data, whose contention would distort the
/// measurement.
pub(super) struct Request {
    number: u64,
    rounds: u64,
    /// If present, the request holds its worker until this is true.
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

    /// Returns the rank. Requests that hold workers come before all others.
    pub fn rank(&self) -> u16 {
        if self.gate.is_some() { 0 } else { rank_of(self.number) }
    }

    /// Serves the request. The server calls this once, on one of its threads.
    pub fn serve(&self) {
        // The clock is read first and last, so that all overhead of the request counts as its time.
        let begun = Instant::now();
        self.begun.store(nanoseconds(begun), Relaxed);
        while self.gate.as_ref().is_some_and(|gate| !gate.load(Acquire)) {
            thread::yield_now();
        }
        self.result.store(work(self.number, self.rounds), Relaxed);
        self.thread.store(THREAD_MARK.with(|here| ptr::from_ref(here).addr()), Relaxed);
        self.served.fetch_add(1, Relaxed);
        // Release pairs with the Acquire of `is_over`, which makes the other fields visible.
        self.ended.store(nanoseconds(Instant::now()), Release);
    }

    fn is_over(&self) -> bool {
        self.ended.load(Acquire) != 0
    }
}

/// Returns nanoseconds since the origin, at least 1, as 0 stands for no time.
fn nanoseconds(moment: Instant) -> u64 {
    moment.duration_since(*ORIGIN).as_nanos() as u64 + 1
}

/// Requests to serve. The first `holds` of them hold the workers until all others have been
/// submitted.
pub(super) struct Load {
    requests: Vec<Arc<Request>>,
    holds: usize,
    released: Arc<AtomicBool>,
}

/// The results of serving all requests.
pub(super) struct LoadResult {
    /// From the first submission, or from the release of the workers, to the end of the last
    /// request.
    pub makespan: Duration,
    /// The sum of the times of all requests.
    pub busy: Duration,
    /// From each request's submission to its begin.
    pub waiting: Times,
    /// From each request's submission to its end.
    pub completion: Times,
    /// From the end of each request to the begin of the next one on the same thread, if threads
    /// serve several.
    pub between: Option<Times>,
    /// The ranks in the order in which requests began.
    pub order: Vec<u16>,
}

impl Load {
    /// Creates `requests` requests of `rounds` rounds, after `holds` requests that hold workers.
    pub fn new(requests: usize, holds: usize, rounds: u64) -> Self {
        LazyLock::force(&ORIGIN);
        let released = Arc::new(AtomicBool::new(false));
        let gate = |number| (number < holds).then(|| released.clone());
        let requests = 0..holds + requests;
        let requests = requests.map(|number| Request::new(number as u64, rounds, gate(number))).collect();
        Self { requests, holds, released }
    }

    /// Submits all requests, and waits until they have been served. Without a queue `submit`
    /// blocks, so that all requests count as submitted at the beginning.
    ///
    /// # Errors
    ///
    /// If a request was not served exactly once, or its result is wrong.
    pub fn run(&self, has_queue: bool, mut submit: impl FnMut(Arc<Request>)) -> Result<LoadResult, Wrong> {
        let now = || nanoseconds(Instant::now());
        let began = now();
        for (number, request) in self.requests.iter().enumerate() {
            request.submitted.store(if has_queue { now() } else { began }, Relaxed);
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
                // Polls rarely, as this takes a core from a worker. The time of polling does not
                // matter.
                thread::sleep(Duration::from_millis(5));
            }
        }
        self.served(if self.holds > 0 { released } else { began }, has_queue)
    }

    fn served(&self, began: u64, has_queue: bool) -> Result<LoadResult, Wrong> {
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
        // A stable sort: requests that began in the same nanosecond keep their order of submission.
        begun.sort_by_key(|&(begins, _)| begins);
        by_thread.sort_unstable();
        let follows = by_thread.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        let between: Vec<_> = follows.map(|pair| pair[1].1.saturating_sub(pair[0].2)).collect();
        Ok(LoadResult {
            makespan: Duration::from_nanos(end - began),
            busy: Duration::from_nanos(busy),
            waiting: Times::of(waiting),
            completion: Times::of(completion),
            between: (has_queue && !between.is_empty()).then(|| Times::of(between)),
            order: begun.into_iter().map(|(_, rank)| rank).collect(),
        })
    }
}
