//! Counters of tasks, one set per worker.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;

/// The counters of a worker, on cache lines of their own.
#[repr(align(128))]
struct Counters {
    /// Tasks that have ended.
    tasks: AtomicU64,
    /// The sum of their results.
    sum: AtomicU64,
    /// Nanoseconds spent in tasks.
    busy: AtomicU64,
    /// Nesting depth of running tasks.
    depth: AtomicU64,
}

/// A set for each possible worker, including virtual ones.
static COUNTERS: [Counters; 4096] = [const {
    Counters {
        tasks: AtomicU64::new(0),
        sum: AtomicU64::new(0),
        busy: AtomicU64::new(0),
        depth: AtomicU64::new(0),
    }
}; 4096];

static IN_USE: Mutex<()> = Mutex::new(());

/// The totals of all workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Total {
    /// Tasks that have ended.
    pub tasks: u64,
    /// The sum of their results.
    pub sum: u64,
    /// Nanoseconds that each worker was busy; zero without [`Timed`](super::executor::Timed).
    pub busy: Vec<u64>,
}

/// Exclusive use of the counters, until it is dropped.
pub(crate) struct CounterGuard(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

impl CounterGuard {
    /// Waits for exclusive use of the counters, and resets them.
    pub(crate) fn acquire() -> Self {
        let guard = Self(IN_USE.lock().unwrap_or_else(PoisonError::into_inner));
        for counters in &COUNTERS {
            for number in [&counters.tasks, &counters.sum, &counters.busy, &counters.depth] {
                number.store(0, Relaxed);
            }
        }
        guard
    }

    /// Returns the totals so far.
    pub(crate) fn total(&self, workers: usize) -> Total {
        let counters = &COUNTERS[..workers];
        Total {
            tasks: counters.iter().map(|counters| counters.tasks.load(Relaxed)).sum(),
            sum: counters.iter().map(|counters| counters.sum.load(Relaxed)).sum(),
            busy: counters.iter().map(|counters| counters.busy.load(Relaxed)).collect(),
        }
    }

    /// Waits until a number of tasks have ended, for runtimes that cannot wait for all tasks. It
    /// polls once per millisecond, so that it takes little time from the workers.
    ///
    /// # Errors
    ///
    /// If more tasks end, or none ends for 30 seconds.
    pub(crate) fn wait_for(&self, tasks: u64, workers: usize) -> Result<(), Wrong> {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            let ran = self.total(workers).tasks;
            if ran == tasks {
                return Ok(());
            }
            if ran != seen {
                (seen, since) = (ran, Instant::now());
            }
            if ran > tasks || since.elapsed() > LOST_AFTER {
                return Err(Wrong::new(format!("{ran} tasks ran instead of {tasks}")));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The time without progress after which tasks are considered lost.
const LOST_AFTER: Duration = Duration::from_secs(30);

#[inline(always)]
fn add(number: &AtomicU64, more: u64) {
    number.store(number.load(Relaxed) + more, Relaxed);
}

/// Counts a task of a worker as ended, and adds its result to the sum.
#[inline(always)]
pub(crate) fn done(worker: usize, adds: u64) {
    let counters = &COUNTERS[worker];
    add(&counters.tasks, 1);
    add(&counters.sum, adds);
}

/// Marks the begin of a worker's task. Returns true unless it is nested in another one.
pub(crate) fn enter(worker: usize) -> bool {
    let depth = &COUNTERS[worker].depth;
    add(depth, 1);
    depth.load(Relaxed) == 1
}

/// Marks the end of a worker's task, with its time if it was not nested.
pub(crate) fn leave(worker: usize, time: Option<Duration>) {
    let counters = &COUNTERS[worker];
    counters.depth.store(counters.depth.load(Relaxed) - 1, Relaxed);
    if let Some(time) = time {
        add(&counters.busy, time.as_nanos() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_nested_task_counts_once() {
        let guard = CounterGuard::acquire();
        assert!(enter(3) && !enter(3));
        leave(3, None);
        leave(3, Some(Duration::from_nanos(7)));
        assert!(enter(3));
        leave(3, Some(Duration::from_nanos(5)));
        done(3, 2);
        assert_eq!(guard.total(4), Total { tasks: 1, sum: 2, busy: vec![0, 0, 0, 12] });
        assert!(guard.wait_for(1, 4).is_ok());
        done(0, 0);
        assert!(guard.wait_for(1, 4).is_err());
    }
}
