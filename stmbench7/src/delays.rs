//! Measures the latency of short writing operations, which long reads may delay.

use super::operations::{Category, Operation};
use super::world::Mode;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xtasking_virtual_time::Clocks;

/// Latencies in virtual time.
pub(super) struct Delays {
    /// When each operation was requested.
    begun: Vec<AtomicU64>,
    /// Latencies of completed operations, in nanoseconds.
    all: Mutex<Vec<u64>>,
}

impl Delays {
    /// Creates the record of `operations` operations.
    pub fn new(operations: usize) -> Self {
        Self { begun: (0..operations).map(|_| AtomicU64::new(0)).collect(), all: Mutex::default() }
    }

    /// Notes that an operation is requested.
    pub fn begin(&self, number: usize, clocks: &Clocks) {
        // Relaxed: the operation's number passes from here to the ending worker through
        // synchronized queues.
        self.begun[number].store(clocks.now(), Relaxed);
    }

    /// Notes that an operation has ended.
    pub fn end(&self, number: usize, operation: Operation, clocks: &Clocks) {
        if operation.mode() == Mode::Write && operation.category() != Category::Long {
            let delay = clocks.now() - self.begun[number].load(Relaxed);
            self.all.lock().expect("no thread panics with the lock held").push(delay);
        }
    }

    /// Returns the summary; `None` if there were no short writers.
    pub fn summary(&self) -> Option<WriterDelays> {
        let mut all = self.all.lock().expect("no thread panics with the lock held").clone();
        all.sort_unstable();
        let last = all.len().checked_sub(1)?;
        let of = |percent: usize| all[last * percent / 100] as f64 / 1e3;
        Some(WriterDelays { count: all.len(), median: of(50), p90: of(90), longest: of(100) })
    }
}

/// Latencies of short writers, in microseconds.
#[derive(Clone, Debug)]
pub(super) struct WriterDelays {
    count: usize,
    median: f64,
    p90: f64,
    longest: f64,
}

/// Formats the summary for a report.
impl fmt::Display for WriterDelays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, median, p90, longest } = self;
        write!(
            f,
            "latency of {count} short writers: \
             median {median:.0} µs, 90th percentile {p90:.0} µs, maximum {longest:.0} µs"
        )
    }
}
