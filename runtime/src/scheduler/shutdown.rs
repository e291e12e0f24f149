//! How a runtime ends. The head of `runtime_state.rs` has the protocol.

use super::runtime_state::phase;
use super::{Runtime, RuntimeState};
use crate::sync::{Relaxed, SeqCst};

/// How a runtime ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// All tasks that were spawned run, follow-ups included.
    Drain,
    /// Tasks that have not started are dropped. Their handles return
    /// [`JoinError::Cancelled`](crate::JoinError::Cancelled).
    Cancel,
}

impl Runtime {
    /// Ends the runtime, and waits until all workers have returned. Every handle has a result then.
    /// Waits for [room](crate::limit) end with an error.
    ///
    /// In one of the runtime's own tasks it does not wait; the runtime ends when its tasks have
    /// run. In a process that was forked from the runtime's it does nothing.
    pub fn shutdown(mut self, how: Shutdown) {
        self.stop(how);
    }

    fn stop(&mut self, how: Shutdown) {
        if !core::mem::replace(&mut self.is_owner, false) {
            return;
        }
        let shared = &self.shared;
        if shared.platform.has_lost_workers() {
            return;
        }
        let ending = if how == Shutdown::Drain { phase::DRAINING } else { phase::CANCELLING };
        shared.phase.store(ending, SeqCst);
        if !planted!("waiters-for-room-forgotten") {
            shared.limits.close();
        }
        shared.wake_all();
        // A task that blocks in place would wait for its own end.
        let may_wait = !shared.is_blocked_in_place();
        let waited = may_wait.then(|| {
            shared.platform.block(&mut |waker| {
                *shared.drained.lock() = Some(waker.clone());
                shared.epochs.is_quiescent(shared.ledgers()) || planted!("stopped-before-quiescent")
            })
        });
        if waited.is_some_and(|waited| waited.is_ok()) {
            shared.phase.store(phase::STOPPED, SeqCst);
            shared.wake_all();
            shared.platform.join();
            shared.drop_parked();
        } else {
            // On a worker: the last worker without tasks stops the runtime.
            shared.stop_when_drained.store(true, SeqCst);
            shared.platform.leave();
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop(Shutdown::Drain);
    }
}

impl RuntimeState {
    /// Returns true if a task of this runtime blocks in place on the calling thread.
    fn is_blocked_in_place(&self) -> bool {
        #[cfg(feature = "std")]
        return super::worker_thread::is_blocked_in(self);
        #[cfg(not(feature = "std"))]
        false
    }

    /// In a shutdown: wakes the thread that waits for its end if no task is left. If no thread
    /// waits, stops the runtime.
    pub(crate) fn notify_if_drained(&self) {
        if self.phase.load(Relaxed) != phase::OPEN && self.epochs.is_quiescent(self.ledgers()) {
            if let Some(waker) = self.drained.lock().take() {
                waker.wake();
            }
            if self.stop_when_drained.load(SeqCst) {
                self.phase.store(phase::STOPPED, SeqCst);
                self.wake_all();
            }
        }
    }
}
