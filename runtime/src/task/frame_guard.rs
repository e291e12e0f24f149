//! Waiting for tasks that rely on the frame of the waiting thread: they borrow from it, or an epoch
//! that it holds keeps their nodes.

use super::{Handle, JoinError};
use crate::scheduler::RuntimeState;
use crate::sync::Backoff;
use core::task::Waker;

/// Tasks that borrow a frame. Dropping this waits for them, so that the frame outlives them even if
/// the platform panics.
pub(crate) struct FrameGuard<'a, R = ()> {
    shared: &'a RuntimeState,
    handle: Handle<R>,
    /// What to do if the platform refuses to wait: true if cancelling the handle ends the borrow
    /// unless the task has begun.
    may_cancel: bool,
    /// The outcome was there.
    is_over: bool,
    outcome: Option<Result<R, JoinError>>,
}

impl<'a, R> FrameGuard<'a, R> {
    pub fn new(shared: &'a RuntimeState, handle: Handle<R>, may_cancel: bool) -> Self {
        Self { shared, handle, may_cancel, is_over: false, outcome: None }
    }

    /// Blocks this thread until the tasks are over, and returns their outcome. If the platform
    /// refused to block, the task was cancelled or is lost.
    pub fn wait(&mut self) -> Result<R, JoinError> {
        let shared = self.shared;
        // Even if the platform refuses, the tasks may be running.
        _ = shared.platform.block(&mut |waker| self.is_over(waker));
        self.cancel_or_wait();
        self.outcome.take().unwrap_or_else(|| Err(shared.wait_failure()))
    }

    fn is_over(&mut self, waker: &Waker) -> bool {
        if !self.is_over {
            self.outcome = self.handle.poll_outcome(waker);
            self.is_over = self.outcome.is_some();
        }
        self.is_over
    }

    /// Cancels the task, or waits for the end. The tasks of lost workers borrow nothing here: they
    /// run in another process, if at all.
    fn cancel_or_wait(&mut self) {
        if self.is_over || (self.may_cancel && self.handle.cancel()) {
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

impl<R> Drop for FrameGuard<'_, R> {
    fn drop(&mut self) {
        self.cancel_or_wait();
    }
}
