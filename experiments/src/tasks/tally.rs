//! The traces of tasks: each thread counts for itself, which costs an empty task next to nothing.

use crate::ycsb::plan::Wrong;
use std::cell::Cell;

thread_local! {
    static RAN: Cell<u64> = const { Cell::new(0) };
}

/// Adds to the count of this thread.
#[inline(always)]
pub(super) fn add(count: u64) {
    RAN.set(RAN.get() + count);
}

/// Takes the count of this thread, which begins at zero again.
pub(super) fn take() -> u64 {
    RAN.take()
}

/// Checks that a number is what it must be.
pub(super) fn expect(what: &str, found: u64, expected: u64) -> Result<(), Wrong> {
    if found == expected {
        return Ok(());
    }
    Err(Wrong::new(format!("{what}: {found} instead of {expected}")))
}
