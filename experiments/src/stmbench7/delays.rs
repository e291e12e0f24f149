//! How long those who write a little are under way, from when they are asked for: whoever keeps them waiting is seen here.

use super::operations::{Category, Operation};
use super::world::Mode;
use crate::virtual_time::Clocks;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// In virtual time.
pub(super) struct Delays {
    /// When each operation was asked for.
    begun: Vec<AtomicU64>,
    /// Nanoseconds, of those that are over.
    all: Mutex<Vec<u64>>,
}

impl Delays {
    /// Of so many operations.
    pub fn new(operations: usize) -> Self {
        Self { begun: (0..operations).map(|_| AtomicU64::new(0)).collect(), all: Mutex::default() }
    }

    /// An operation is asked for.
    pub fn begin(&self, number: usize, clocks: &Clocks) {
        // Relaxed: who ends it has got it from the caller.
        self.begun[number].store(clocks.now(), Relaxed);
    }

    /// It is over.
    pub fn end(&self, number: usize, operation: Operation, clocks: &Clocks) {
        if operation.mode() == Mode::Write && operation.category() != Category::Long {
            let delay = clocks.now() - self.begun[number].load(Relaxed);
            self.all.lock().expect("nobody panics with it").push(delay);
        }
    }

    /// What there was to be seen; `None` if nobody wrote.
    pub fn told(&self) -> Option<Told> {
        let mut all = self.all.lock().expect("nobody panics with it").clone();
        all.sort_unstable();
        let last = all.len().checked_sub(1)?;
        let of = |percent: usize| all[last * percent / 100] as f64 / 1e3;
        Some(Told { count: all.len(), middle: of(50), most: of(90), longest: of(100) })
    }
}

/// Microseconds of those who wrote.
#[derive(Clone, Debug)]
pub(super) struct Told {
    count: usize,
    middle: f64,
    most: f64,
    longest: f64,
}

/// For people.
impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, middle, most, longest } = self;
        write!(
            f,
            "{count} short writers were over after {middle:.0} µs in the median, nine of ten after {most:.0} µs, all after {longest:.0} µs"
        )
    }
}
