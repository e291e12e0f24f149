//! Implements threads outside of the runtime that take part in virtual time.

use super::baton::Baton;
use super::seat::{End, Number, State};
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A thread that takes part in virtual time, like one that submits requests: it has a clock, spends
/// time, and waits for handles. Created by [`Clocks::submitter`](super::Clocks::submitter).
///
/// Dropping this detaches the thread.
pub struct Submitter<T> {
    baton: Arc<Baton>,
    seat: Number,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Submitter<T> {
    pub(super) fn start(
        baton: &Arc<Baton>,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<Self> {
        let seat = {
            let mut order = baton.order();
            let time = order.time(baton.seat());
            order.add(time)
        };
        let theirs = baton.clone();
        let thread = std::thread::Builder::new().name(format!("submitter-{seat}")).spawn(move || {
            let _seated = theirs.enter(seat);
            body()
        });
        let thread = thread.inspect_err(|_| baton.order().withdraw(seat))?;
        Ok(Self { baton: baton.clone(), seat, thread })
    }

    /// Waits, in virtual time, until the thread has ended, and returns its result.
    ///
    /// # Errors
    ///
    /// The payload of the thread's panic.
    ///
    /// # Panics
    ///
    /// If the calling thread has no seat, or at a standstill.
    pub fn join(self) -> std::thread::Result<T> {
        let own = self.baton.own_seat();
        let is_there = self.baton.order().seats[self.seat].state != State::Gone;
        if is_there && let Err(stuck) = self.baton.wait_as(own, State::Awaits(End::Of(self.seat))) {
            stuck.report();
        }
        self.thread.join()
    }
}

impl<T> fmt::Debug for Submitter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitter").field("seat", &self.seat).finish_non_exhaustive()
    }
}
