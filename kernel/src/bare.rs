//! The cores themselves, below any runtime: for what stands in for threads.
//!
//! A core that runs a job is not free for workers until the job ends.

use crate::cpu::random;
use crate::{clock, cores};
use alloc::boxed::Box;
use core::time::Duration;

/// Runs a job on a free core, and returns its index. Calls `then` on that core when the job is done
/// and the core is free for others. Returns `None` if no core is free.
pub fn start(job: Box<dyn FnOnce() + Send>, then: impl FnOnce() + Send + 'static) -> Option<usize> {
    let mut job: cores::Job = Box::new(move || {
        job();
        cores::own().become_free();
        then();
    });
    for core in cores::all() {
        match core.give(job) {
            Ok(()) => return Some(core.index()),
            Err(back) => job = back,
        }
    }
    None
}

/// Returns the index of the calling core.
pub fn current() -> usize {
    cores::own().index()
}

/// Halts the calling core until it is woken, at most for a time. A wake-up that came earlier
/// counts, and the call may return early.
pub fn park(limit: Option<Duration>) {
    let until =
        |limit: Duration| clock::now().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
    cores::own().sleep(limit.map(until));
}

/// Wakes a core. If it is not halted, its next [`park`] returns at once.
pub fn wake(core: usize) {
    if let Some(core) = cores::all().get(core) {
        core.wake();
    }
}

/// Returns the time since the kernel began.
pub fn now() -> Duration {
    Duration::from_nanos(clock::now())
}

/// Returns the time since 1970; see [`Machine::since_1970`](crate::Machine::since_1970).
pub fn since_1970() -> Duration {
    Duration::from_nanos(clock::since_1970())
}

/// Returns random bits, or `None` if the processor has no instruction for it.
pub fn random() -> Option<u64> {
    random::word()
}
