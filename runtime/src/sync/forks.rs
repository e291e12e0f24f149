//! How often this process was forked since its first runtime. A forked process has one thread, so
//! that no other thread of an older runtime goes on.

use super::{Relaxed, global};

/// Written by the only thread of a process that was just forked.
static FORKS: global::AtomicU64 = global::AtomicU64::new(0);

/// Returns the number of forks between the first runtime's process and this one.
pub(crate) fn forks() -> u64 {
    // Relaxed: the threads of a process are started after it was forked, which orders the store
    // before their loads.
    FORKS.load(Relaxed)
}

/// Counts a fork. The caller is the only thread of a process that was just forked.
#[cfg(all(feature = "std", unix))]
pub(crate) fn count_fork() {
    FORKS.store(forks() + 1, Relaxed);
}
