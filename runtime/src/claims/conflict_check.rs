//! Asserts in debug builds that no two conflicting tasks run, independently of the admission.

use crate::sync::{AtomicU32, Relaxed};

const WRITER: u32 = 1 << 31;

/// Counts the tasks that run with a granule: readers, or one writer.
#[derive(Default)]
pub(super) struct ConflictCheck(AtomicU32);

impl ConflictCheck {
    /// Counts a task that starts.
    ///
    /// # Panics
    ///
    /// If a conflicting task runs.
    pub fn enter(&self, write: bool) {
        // Relaxed: each task changes the count in one atomic step, and nothing is ordered by it.
        let before = self.0.fetch_add(if write { WRITER } else { 1 }, Relaxed);
        assert!(
            if write { before == 0 } else { before < WRITER },
            "two tasks with conflicting claims run at the same time"
        );
    }

    /// Counts a task that is over.
    pub fn leave(&self, write: bool) {
        self.0.fetch_sub(if write { WRITER } else { 1 }, Relaxed);
    }
}
