//! The traces of tasks: each worker counts for itself, which costs an empty task next to nothing.

use crate::ycsb::plan::Wrong;
use std::sync::atomic::{AtomicU64, Ordering};

/// A count on cache lines of its own.
#[repr(align(128))]
struct Count(AtomicU64);

/// A count for each worker that there can be; a run that ends well leaves zeroes behind.
///
/// Thread-local counts would do as well, but cost a third of an empty task.
static RAN: [Count; 256] = [const { Count(AtomicU64::new(0)) }; 256];

/// Adds to the count of a worker, which alone does so.
#[inline(always)]
pub(super) fn add(worker: usize, count: u64) {
    let ran = &RAN[worker % RAN.len()].0;
    ran.store(ran.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

/// Takes the count of a worker, which begins at zero again. The worker does it itself, or has nothing to do.
pub(super) fn take(worker: usize) -> u64 {
    RAN[worker % RAN.len()].0.swap(0, Ordering::Relaxed)
}

/// Checks that a number is what it must be.
pub(super) fn expect(what: &str, found: u64, expected: u64) -> Result<(), Wrong> {
    if found == expected {
        return Ok(());
    }
    Err(Wrong::new(format!("{what}: {found} instead of {expected}")))
}
