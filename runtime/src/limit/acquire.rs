//! The future of a permit.

use super::semaphore::Ticket;
use super::{Limit, LimitError, Permit};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// Waits for a permit; made by [`Limit::acquire`].
///
/// It enters the queue when it is first polled. Dropped, it leaves the queue; if it was served
/// already, the permit goes to the next waiter.
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Acquire {
    limit: Limit,
    state: State,
}

enum State {
    New,
    Waiting(Ticket),
    Finished,
}

impl core::fmt::Debug for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::New => "New",
            Self::Waiting(_) => "Waiting",
            Self::Finished => "Finished",
        })
    }
}

impl Acquire {
    pub(super) fn new(limit: Limit) -> Self {
        Self { limit, state: State::New }
    }

    /// Returns the permit, or why there is none. Otherwise the waker is woken for another look.
    ///
    /// # Panics
    ///
    /// If it has returned an outcome before.
    pub(crate) fn poll_outcome(&mut self, waker: &Waker) -> Option<Result<Permit, LimitError>> {
        let semaphore = self.limit.semaphore();
        let outcome = match self.state {
            State::New => match semaphore.try_take() {
                Err(LimitError::Full) => match semaphore.enter(waker) {
                    Ok(Some(ticket)) => {
                        self.state = State::Waiting(ticket);
                        return None;
                    }
                    outcome => outcome.map(|_| ()),
                },
                outcome => outcome,
            },
            State::Waiting(ticket) => match semaphore.poll(ticket, waker) {
                Poll::Pending => return None,
                Poll::Ready(outcome) => outcome,
            },
            State::Finished => panic!("the future of a permit is polled after its end"),
        };
        self.state = State::Finished;
        Some(outcome.map(|()| Permit::of(self.limit.clone())))
    }
}

impl Future for Acquire {
    type Output = Result<Permit, LimitError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_outcome(context.waker()).map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let State::Waiting(ticket) = self.state {
            self.limit.semaphore().cancel(ticket);
        }
    }
}
