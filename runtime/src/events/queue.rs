//! What a platform brings for events: a queue for each worker, and sources.

use super::{Interest, Ready};
use crate::platform::PlatformError;
use core::any::Any;

/// The number of a source in the queue of its worker. The runtime makes it, and the queue reports
/// it with each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub usize);

/// The queues of events of a platform: one for each worker.
///
/// [`Platform::events`](crate::platform::Platform::events) returns it. A worker that
/// [parks](crate::platform::Platform::park) sleeps in its queue: the call returns if an event is
/// there, and keeps the event for [`take`](Self::take).
///
/// Events are *edges*: a source reports that something has become possible, once. The handler of
/// the event goes on until nothing is possible any more (`WouldBlock`). More events than needed do
/// no harm.
///
/// Methods may be called by any thread, also at the same time, for the same worker. They must not
/// panic.
pub trait EventQueues: Send + Sync {
    /// Looks for events of a worker, without waiting. Returns true if there are some to
    /// [take](Self::take), also from before.
    ///
    /// Called by the thread that drives the worker, often if it has sources and no tasks.
    fn poll(&self, worker: usize) -> bool;

    /// Returns true if there are events to [take](Self::take), as far as is known without looking.
    fn has_events(&self, worker: usize) -> bool;

    /// Removes the events of a worker that were found, and calls `each` with them.
    ///
    /// Called by a task, which runs on that worker as a rule.
    fn take(&self, worker: usize, each: &mut dyn FnMut(Token, Ready));

    /// Returns the queues as what they are, for [`Registration::queues`].
    fn as_any(&self) -> &dyn Any;
}

/// Something that reports events to the [queue](EventQueues) of a worker: a socket, a pipe, a
/// device. An implementation belongs to one platform.
pub trait Source {
    /// Makes the source report events.
    ///
    /// # Errors
    ///
    /// If the source belongs to another platform, or the system refuses.
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError>;

    /// Makes the source report no more events. Those that were found before may still be taken.
    ///
    /// # Errors
    ///
    /// As for [`register`](Self::register). The runtime ignores the error, as the source is about
    /// to be dropped.
    fn deregister(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError>;

    /// Returns how many bytes were written, and wait in memory of the source until they are sent.
    /// The default is 0.
    fn unsent(&self) -> usize {
        0
    }
}

/// Where a source is registered, and under which token.
pub struct Registration<'a> {
    pub(super) queues: &'a dyn EventQueues,
    pub(super) worker: usize,
    pub(super) token: Token,
    pub(super) interest: Interest,
}

impl Registration<'_> {
    /// Returns the queues of the platform, if they have this type.
    pub fn queues<Q: EventQueues + 'static>(&self) -> Option<&Q> {
        self.queues.as_any().downcast_ref()
    }

    /// Returns the worker in whose queue events are to be.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Returns the token to report.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Returns of what events are to be reported.
    pub fn interest(&self) -> Interest {
        self.interest
    }
}
