//! Waiting for tasks that borrow from the frame of the waiting thread.

use super::{Handle, JoinError};
use crate::scheduler::RuntimeState;
use crate::sync::Backoff;
use core::task::Waker;

/// Tasks that borrow a frame. Dropping this waits for them, so that the frame outlives them even if
/// the platform panics.
pub(crate) struct FrameGuard<'a> {
    shared: &'a RuntimeState,
    handle: Handle<()>,
    /// What to do if the platform refuses to wait: true if cancelling the handle ends the borrow
    /// unless the task has begun.
    may_cancel: bool,
    outcome: Option<Result<(), JoinError>>,
}

impl<'a> FrameGuard<'a> {
    pub fn new(shared: &'a RuntimeState, handle: Handle<()>, may_cancel: bool) -> Self {
        Self { shared, handle, may_cancel, outcome: None }
    }

    /// Blocks this thread until the tasks are over, and returns their outcome. If the platform
    /// refused to block, the task was cancelled or is lost.
    pub fn wait(&mut self) -> Result<(), JoinError> {
        let shared = self.shared;
        // Even if the platform refuses, the tasks may be running.
        _ = shared.platform.block(&mut |waker| self.is_over(waker));
        self.cancel_or_wait();
        let outcome = self.outcome.as_mut().map(|outcome| core::mem::replace(outcome, Ok(())));
        outcome.unwrap_or_else(|| Err(shared.wait_failure()))
    }

    fn is_over(&mut self, waker: &Waker) -> bool {
        if self.outcome.is_none() {
            self.outcome = self.handle.poll_outcome(waker);
        }
        self.outcome.is_some()
    }

    /// Cancels the task, or waits for the end. The tasks of lost workers borrow nothing here: they
    /// run in another process, if at all.
    fn cancel_or_wait(&mut self) {
        if self.outcome.is_some() || (self.may_cancel && self.handle.cancel()) {
            return;
        }
        let mut backoff = Backoff::new();
        while !self.shared.platform.has_lost_workers() && !self.is_over(Waker::noop()) {
            if !self.shared.yield_to_others(true) {
                backoff.wait();
            }
        }
    }
}

impl Drop for FrameGuard<'_> {
    fn drop(&mut self) {
        self.cancel_or_wait();
    }
}
