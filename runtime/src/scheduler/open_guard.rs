//! What keeps a runtime from ending while a thread uses a handle to it.
//!
//! The owner of a runtime cannot spawn beside its shutdown, as that takes the runtime by value. A
//! [handle](super::RuntimeHandle) can. So it counts itself as one that waits to begin, as a pending
//! task does, and then looks whether the shutdown has begun:
//!
//! ```text
//! handle:   counts itself; sees OPEN
//! shutdown: DRAINING; finds the handle counted, waits
//! handle:   spawns; ends its count; wakes the shutdown
//! ```
//!
//! Count and phase are SeqCst on both sides: either the handle sees the shutdown, or the shutdown
//! sees the count.

use super::{Runtime, RuntimeState};
use crate::task::JoinError;

/// Keeps the runtime from ending until it is dropped.
pub struct OpenGuard<'r> {
    shared: &'r RuntimeState,
}

impl Drop for OpenGuard<'_> {
    fn drop(&mut self) {
        self.shared.epochs.end_wait();
        // SeqCst, as the count before it: else the shutdown sees that the count has ended.
        if self.shared.is_shutting_down() {
            self.shared.notify_if_drained();
        }
    }
}

impl Runtime {
    /// Keeps the runtime from ending until the guard is dropped. The owner needs no guard.
    ///
    /// # Errors
    ///
    /// [`JoinError::ShutDown`] if this is a handle, and the runtime has begun to end.
    #[inline]
    pub(crate) fn keep_open(&self) -> Result<Option<OpenGuard<'_>>, JoinError> {
        if self.is_owner { Ok(None) } else { self.shared.keep_open().map(Some) }
    }
}

impl RuntimeState {
    #[cold]
    fn keep_open(&self) -> Result<OpenGuard<'_>, JoinError> {
        if self.is_shutting_down() {
            // Without counting: the shutdown would not end while handles try again and again.
            return Err(JoinError::ShutDown);
        }
        self.epochs.begin_wait();
        let guard = OpenGuard { shared: self };
        if self.is_shutting_down() { Err(JoinError::ShutDown) } else { Ok(guard) }
    }
}
