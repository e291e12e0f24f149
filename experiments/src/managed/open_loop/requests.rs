//! The requests, and the thread that submits them.

use super::schedule::Schedule;
use crate::piece::compute;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_harness::machine::{cores, pin};

/// What is known of a request: its latency in nanoseconds, and in the upper bits how often it ran.
type Record = AtomicU64;

/// The number of runs in a record.
const ONE_RUN: u64 = 1 << 56;

/// Records of the requests of a turn.
///
/// They are never freed: requests refer to them without a count of references, whose contention
/// would distort the measurement. All turns use the same records.
#[derive(Clone, Copy)]
pub(super) struct Records(&'static [Record]);

/// A request: plain data that a server moves to one of its workers.
#[derive(Clone, Copy)]
pub(super) struct Request {
    record: &'static Record,
    steps: u64,
    due: Instant,
}

impl Request {
    /// Serves the request. The server calls this once, on one of its threads.
    pub fn serve(self) {
        black_box(compute(self.steps));
        let latency = self.due.elapsed().as_nanos() as u64;
        // Release pairs with the Acquire of `Records::run`: then the server has begun all requests.
        self.record.fetch_add(ONE_RUN + latency, Release);
    }
}

/// How long a server may take after the last submission, before requests count as lost.
const PATIENCE: Duration = Duration::from_secs(60);

impl Records {
    /// Allocates records for at most this many requests.
    pub fn new(most: usize) -> Self {
        Self(Box::leak((0..most).map(|_| Record::new(0)).collect()))
    }

    /// Submits the requests of a schedule when each is due, from a thread on a core that no worker
    /// has, if there is one. Returns the latencies of all.
    ///
    /// # Errors
    ///
    /// If a request was not served exactly once.
    pub fn run(
        self,
        schedule: &Schedule,
        steps_per_microsecond: f64,
        workers: usize,
        submit: &(dyn Fn(Request) + Sync),
    ) -> Result<Vec<u64>, Wrong> {
        let records = &self.0[..schedule.0.len()];
        records.iter().for_each(|record| record.store(0, Relaxed));
        let has_core = workers < cores();
        thread::scope(|scope| {
            scope.spawn(|| {
                pin(workers, workers + 1);
                let began = Instant::now();
                for (arrival, record) in schedule.0.iter().zip(records) {
                    let due = began + arrival.due;
                    while Instant::now() < due {
                        if has_core { spin_loop() } else { thread::yield_now() }
                    }
                    submit(Request { record, steps: (arrival.service * steps_per_microsecond) as u64, due });
                }
            });
        });
        let submitted = Instant::now();
        let latencies = records.iter().enumerate().map(|(number, record)| {
            while record.load(Acquire) == 0 {
                if submitted.elapsed() > PATIENCE {
                    return Err(Wrong::new(format!("request {number} was not served")));
                }
                // Polls rarely, as this takes a core from a worker.
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
        latencies.collect::<Result<(), _>>()?;
        records.iter().enumerate().map(|(number, record)| latency(number, record.load(Acquire))).collect()
    }
}

/// Returns the latency of a record of one run.
fn latency(number: usize, record: u64) -> Result<u64, Wrong> {
    match record / ONE_RUN {
        1 => Ok(record % ONE_RUN),
        runs => Err(Wrong::new(format!("request {number} was served {runs} times"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::open_loop::schedule::Workload;

    fn run(submit: &(dyn Fn(Request) + Sync)) -> Result<Vec<u64>, Wrong> {
        let schedule = Schedule::draw(Workload { service: 1, load: 50 }, 1, Duration::from_micros(200), 1);
        Records::new(100).run(&schedule, 0.0, 1, submit)
    }

    #[test]
    fn each_request_has_a_latency() {
        assert_eq!(run(&Request::serve).unwrap().len(), 100);
    }

    /// A request that is submitted late has waited since it was due.
    #[test]
    fn latencies_count_from_the_moment_when_a_request_is_due() {
        let late = |request: Request| {
            thread::sleep(Duration::from_millis(1));
            request.serve();
        };
        let latencies = run(&late).unwrap();
        // The last is due within a millisecond, and comes after a hundred submissions.
        assert!(*latencies.last().unwrap() > 90_000_000, "{latencies:?}");
    }

    #[test]
    fn a_request_that_is_served_twice_is_found() {
        let twice = |request: Request| {
            request.serve();
            request.serve();
        };
        assert_eq!(run(&twice).unwrap_err().to_string(), "request 0 was served 2 times");
    }
}
