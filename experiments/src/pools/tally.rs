//! The traces of tasks: each worker writes its own.

use crate::ycsb::plan::Wrong;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a worker's tasks have left, on cache lines of its own.
#[repr(align(128))]
struct Traces {
    tasks: AtomicU64,
    sum: AtomicU64,
    /// Nanoseconds.
    busy: AtomicU64,
    /// Tasks that run within each other.
    depth: AtomicU64,
}

/// One for each worker that there can be, virtual ones included.
static TRACES: [Traces; 4096] = [const {
    Traces {
        tasks: AtomicU64::new(0),
        sum: AtomicU64::new(0),
        busy: AtomicU64::new(0),
        depth: AtomicU64::new(0),
    }
}; 4096];

static TURN: Mutex<()> = Mutex::new(());

/// What all workers' tasks have left together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Total {
    pub tasks: u64,
    pub sum: u64,
    /// How many nanoseconds each worker was busy, if that was noted.
    pub busy: Vec<u64>,
}

/// One at a time leaves traces: until this is dropped.
pub(super) struct Turn(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

impl Turn {
    /// Waits for all others, and begins without any trace.
    pub(super) fn begin() -> Self {
        let turn = Self(TURN.lock().unwrap_or_else(PoisonError::into_inner));
        for traces in &TRACES {
            for number in [&traces.tasks, &traces.sum, &traces.busy, &traces.depth] {
                number.store(0, Relaxed);
            }
        }
        turn
    }

    /// What was left so far.
    pub(super) fn total(&self, workers: usize) -> Total {
        let traces = &TRACES[..workers];
        Total {
            tasks: traces.iter().map(|traces| traces.tasks.load(Relaxed)).sum(),
            sum: traces.iter().map(|traces| traces.sum.load(Relaxed)).sum(),
            busy: traces.iter().map(|traces| traces.busy.load(Relaxed)).collect(),
        }
    }

    /// Waits until so many tasks have come to their end, for those that cannot be waited for otherwise. It looks every
    /// millisecond, so that it takes no time from those at work.
    pub(super) fn wait_for(&self, tasks: u64, workers: usize) -> Result<(), Wrong> {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            let ran = self.total(workers).tasks;
            if ran == tasks {
                return Ok(());
            }
            if ran != seen {
                (seen, since) = (ran, Instant::now());
            }
            if ran > tasks || since.elapsed() > LOST {
                return Err(Wrong::new(format!("{ran} tasks ran instead of {tasks}")));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Where no task ends for so long, some are lost.
const LOST: Duration = Duration::from_secs(30);

#[inline(always)]
fn add(number: &AtomicU64, more: u64) {
    number.store(number.load(Relaxed) + more, Relaxed);
}

/// A worker's task is at its end, and adds something to the result.
#[inline(always)]
pub(super) fn done(worker: usize, adds: u64) {
    let traces = &TRACES[worker];
    add(&traces.tasks, 1);
    add(&traces.sum, adds);
}

/// A worker begins a task. Whether that is not within another one.
pub(super) fn enter(worker: usize) -> bool {
    let depth = &TRACES[worker].depth;
    add(depth, 1);
    depth.load(Relaxed) == 1
}

/// A worker ends a task; one that was not within another one has taken so long.
pub(super) fn leave(worker: usize, time: Option<Duration>) {
    let traces = &TRACES[worker];
    traces.depth.store(traces.depth.load(Relaxed) - 1, Relaxed);
    if let Some(time) = time {
        add(&traces.busy, time.as_nanos() as u64);
    }
}

/// How much longer the busiest was busy than all are on average, as a part of that average; 0 if nobody was.
pub(crate) fn imbalance(busy: &[u64]) -> f64 {
    let (most, sum) = (busy.iter().max().copied().unwrap_or(0), busy.iter().sum::<u64>());
    if sum == 0 { 0.0 } else { most as f64 * busy.len() as f64 / sum as f64 - 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imbalance_is_what_the_busiest_does_more() {
        assert_eq!((imbalance(&[]), imbalance(&[0, 0]), imbalance(&[7, 7, 7])), (0.0, 0.0, 0.0));
        assert_eq!((imbalance(&[0, 8]), imbalance(&[6, 2, 4])), (1.0, 0.5));
    }

    #[test]
    fn what_runs_within_another_one_is_not_counted_twice() {
        let turn = Turn::begin();
        assert!(enter(3) && !enter(3));
        leave(3, None);
        leave(3, Some(Duration::from_nanos(7)));
        assert!(enter(3));
        leave(3, Some(Duration::from_nanos(5)));
        done(3, 2);
        assert_eq!(turn.total(4), Total { tasks: 1, sum: 2, busy: vec![0, 0, 0, 12] });
        assert!(turn.wait_for(1, 4).is_ok());
        done(0, 0);
        assert!(turn.wait_for(1, 4).is_err());
    }
}
