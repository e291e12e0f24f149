//! Sees that nobody is at a granule who must not be, whatever the lines say. In debug builds.

use crate::sync::{AtomicU32, Relaxed};

const WRITER: u32 = 1 << 31;

/// Who runs with the granule: so many readers, or a writer.
#[derive(Default)]
pub(super) struct Watch(AtomicU32);

impl Watch {
    /// A task begins.
    ///
    /// # Panics
    ///
    /// If it should wait.
    pub fn enter(&self, write: bool) {
        // Relaxed: each counts itself in and out in one step, and orders nothing by that.
        let before = self.0.fetch_add(if write { WRITER } else { 1 }, Relaxed);
        assert!(
            if write { before == 0 } else { before < WRITER },
            "a task runs beside one that it must not meet"
        );
    }

    /// It is over.
    pub fn leave(&self, write: bool) {
        self.0.fetch_sub(if write { WRITER } else { 1 }, Relaxed);
    }
}
