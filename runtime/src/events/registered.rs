//! A source that is registered with the queue of events of a worker.

use super::{Events, Interest, Registration, Source, Token};
use crate::platform::PlatformError;
use crate::scheduler::{Context, Runtime, RuntimeState};
use crate::sync::SeqCst;
use crate::task::drop_quietly;
use alloc::sync::Arc;
use core::fmt;

/// A source of events that is registered with a worker; made by [`Runtime::register`] or
/// [`Context::register`].
///
/// Dropping or [closing](Self::close) it ends its events.
pub struct Registered<S: Source> {
    /// `None` once it is closed.
    source: Option<S>,
    place: Place,
}

/// Where a source is registered.
#[derive(Clone)]
pub(super) struct Place {
    pub shared: Arc<RuntimeState>,
    pub worker: usize,
    pub token: Token,
    interest: Interest,
}

impl Place {
    /// Drops the handler of the source: it gets no events any more.
    pub fn forget(&self) {
        drop_quietly(self.shared.outside.handlers(self.worker).remove(self.token));
    }

    /// Calls `body` with the registration, unless the platform has no events.
    fn with<R>(&self, body: impl FnOnce(&Registration<'_>) -> R) -> Option<R> {
        let (worker, token, interest) = (self.worker, self.token, self.interest);
        let queues = self.shared.platform.events()?;
        Some(body(&Registration { queues, worker, token, interest }))
    }
}

impl<S: Source> Registered<S> {
    fn new(
        shared: &Arc<RuntimeState>,
        worker: usize,
        mut source: S,
        interest: Interest,
    ) -> Result<(Self, Events), PlatformError> {
        let worker = worker % shared.slots.len();
        let token = shared.outside.handlers(worker).add();
        let token = token.ok_or("the runtime has begun to end, or has too many sources")?;
        let place = Place { shared: shared.clone(), worker, token, interest };
        let registered = place.with(|registration| source.register(registration));
        let no_events = "this platform has no events; see `Platform::events`";
        if let Err(error) = registered.unwrap_or_else(|| Err(no_events.into())) {
            place.forget();
            return Err(error);
        }
        let events = Events::new(place.clone());
        // Its owner may have to look at the sources of this worker from now on.
        if shared.slots[worker].asleep.0.load(SeqCst) {
            shared.wake(worker);
        }
        Ok((Self { source: Some(source), place }, events))
    }

    /// Returns the source; `None` once it is closed.
    pub fn get(&self) -> Option<&S> {
        self.source.as_ref()
    }

    /// Returns the source; `None` once it is closed.
    pub fn get_mut(&mut self) -> Option<&mut S> {
        self.source.as_mut()
    }

    /// Returns the worker that looks for the source's events.
    pub fn worker(&self) -> usize {
        self.place.worker
    }

    /// Returns true if the source was closed.
    pub fn is_closed(&self) -> bool {
        self.source.is_none()
    }

    /// Ends the events, and drops the source. The handler is dropped once it does not run.
    pub fn close(&mut self) {
        if let Some(mut source) = self.source.take() {
            // In a forked process the system's queue is that of the parent, which goes on.
            if !self.place.shared.platform.has_lost_workers() {
                // An error changes nothing: the source is dropped now.
                _ = self.place.with(|registration| source.deregister(registration));
            }
            self.place.forget();
        }
    }
}

impl<S: Source> Drop for Registered<S> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<S: Source + fmt::Debug> fmt::Debug for Registered<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worker = self.worker();
        f.debug_struct("Registered").field("source", &self.source).field("worker", &worker).finish()
    }
}

impl Runtime {
    /// Registers a source of events with one of the workers. The second result says what its events
    /// start.
    ///
    /// # Errors
    ///
    /// If the platform has no events or not for this source, the system refuses, or the runtime has
    /// begun to end.
    pub fn register<S: Source>(
        &self,
        source: S,
        interest: Interest,
    ) -> Result<(Registered<S>, Events), PlatformError> {
        self.register_on(self.shared().next_in_turn(), source, interest)
    }

    /// Registers a source of events with a worker (modulo their number), as
    /// [`register`](Self::register) does.
    ///
    /// # Errors
    ///
    /// As for [`register`](Self::register).
    pub fn register_on<S: Source>(
        &self,
        worker: usize,
        source: S,
        interest: Interest,
    ) -> Result<(Registered<S>, Events), PlatformError> {
        Registered::new(self.shared(), worker, source, interest)
    }
}

impl Context {
    /// Registers a source of events with this worker; see [`Runtime::register`].
    ///
    /// # Errors
    ///
    /// As for [`Runtime::register`].
    pub fn register<S: Source>(
        &self,
        source: S,
        interest: Interest,
    ) -> Result<(Registered<S>, Events), PlatformError> {
        self.register_on(self.worker(), source, interest)
    }

    /// Registers a source of events with a worker (modulo their number); see
    /// [`Runtime::register`].
    ///
    /// # Errors
    ///
    /// As for [`Runtime::register`].
    pub fn register_on<S: Source>(
        &self,
        worker: usize,
        source: S,
        interest: Interest,
    ) -> Result<(Registered<S>, Events), PlatformError> {
        Registered::new(self.worker.shared(), worker, source, interest)
    }
}
