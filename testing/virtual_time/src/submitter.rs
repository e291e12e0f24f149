//! Implements threads outside of the runtime that take part in virtual time.

use super::participant::{End, Number, State};
use super::run_token::RunToken;
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A thread that takes part in virtual time, like one that submits requests: it has a clock, spends
/// time, and waits for handles. Created by [`Clocks::submitter`](super::Clocks::submitter).
///
/// Dropping this detaches the thread.
pub struct Submitter<T> {
    token: Arc<RunToken>,
    participant: Number,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Submitter<T> {
    pub(super) fn start(
        token: &Arc<RunToken>,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<Self> {
        let participant = {
            let mut order = token.order();
            let time = order.time(token.participant());
            order.add(time)
        };
        let theirs = token.clone();
        let thread = std::thread::Builder::new().name(format!("submitter-{participant}")).spawn(move || {
            let _participation = theirs.enter(participant);
            body()
        });
        let thread = thread.inspect_err(|_| token.order().withdraw(participant))?;
        Ok(Self { token: token.clone(), participant, thread })
    }

    /// Waits, in virtual time, until the thread has ended, and returns its result.
    ///
    /// # Errors
    ///
    /// The payload of the thread's panic.
    ///
    /// # Panics
    ///
    /// If the calling thread is no participant, or in a deadlock.
    pub fn join(self) -> std::thread::Result<T> {
        let own = self.token.own_participant();
        let is_there = self.token.order().participants[self.participant].state != State::Gone;
        if is_there && let Err(deadlock) = self.token.wait_as(own, State::Awaits(End::Of(self.participant))) {
            deadlock.report();
        }
        self.thread.join()
    }
}

impl<T> fmt::Debug for Submitter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitter").field("participant", &self.participant).finish_non_exhaustive()
    }
}
