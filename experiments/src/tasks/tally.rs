//! Counters of tasks, one per worker, so that counting costs an empty task almost nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use xtasking_harness::failure::Wrong;

/// A counter on cache lines of its own.
#[repr(align(128))]
struct Count(AtomicU64);

/// A counter for each possible worker. All are zero between runs.
///
/// Thread-local counters would cost a third of an empty task.
static RAN: [Count; 256] = [const { Count(AtomicU64::new(0)) }; 256];

/// Adds to a worker's counter. Only that worker may call this, as the addition is not atomic.
#[inline(always)]
pub(super) fn add(worker: usize, count: u64) {
    let ran = &RAN[worker % RAN.len()].0;
    ran.store(ran.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

/// Returns a worker's counter and resets it. Only that worker may call this, or any thread while it
/// is idle.
pub(super) fn take(worker: usize) -> u64 {
    RAN[worker % RAN.len()].0.swap(0, Ordering::Relaxed)
}

/// Checks that a number has its expected value.
///
/// # Errors
///
/// A text that names the number and both values.
pub(super) fn expect(what: &str, found: u64, expected: u64) -> Result<(), Wrong> {
    if found == expected {
        return Ok(());
    }
    Err(Wrong::new(format!("{what}: {found} instead of {expected}")))
}
