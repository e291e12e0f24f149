//! Queues of events by [`mio`]: epoll, kqueue, or completion ports.
//!
//! A worker gets its queue with its first source. From then on it sleeps there, and a [`Waker`] of
//! the queue wakes it. Before, it parks as threads do:
//!
//! ```text
//! worker: sees no queue, parks its thread
//! source: makes the queue
//! task:   is sent to the worker, whose thread is to be woken: by which means?
//! ```
//!
//! The thread that makes a queue wakes the worker by both means. Then the worker sees the queue,
//! and looks whether it was woken before it sleeps again. If the sender of the task has not seen
//! the queue, it had published before that look that the worker is awake: both pass a fence
//! between.

use crate::events::{EventQueues, Interest, Ready, Registration, Source, Token};
use crate::platform::PlatformError;
use crate::sync::{Acquire, AtomicBool, Release, SeqCst, SpinMutex, fence};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::mem;
use core::time::Duration;
use mio::{Events, Poll, Registry, Waker};
use once_cell::race::OnceBox;
use std::io;
use std::thread::Thread;

/// The token of the waker.
const WAKER: mio::Token = mio::Token(usize::MAX);
/// Events that one look finds at most; further ones are found by the next.
const MOST_EVENTS: usize = 256;

/// A thread of each worker, while there is one.
type WorkerThreads = [SpinMutex<Option<Thread>>];

/// The queue of each worker that has had a source.
pub(super) struct EventPolls {
    queues: Box<[OnceBox<Queue>]>,
    threads: alloc::sync::Arc<WorkerThreads>,
}

struct Queue {
    /// The thread of the worker holds it while it sleeps, perhaps for long. No other one waits for
    /// it.
    poll: SpinMutex<(Poll, Events)>,
    registry: Registry,
    waker: Waker,
    found: SpinMutex<Vec<(Token, Ready)>>,
    /// `found` has some.
    has_found: AtomicBool,
}

impl EventPolls {
    pub fn new(threads: alloc::sync::Arc<WorkerThreads>) -> Self {
        Self { queues: threads.iter().map(|_| OnceBox::new()).collect(), threads }
    }

    /// Sleeps in the queue of a worker, at most for `limit`. Returns false if it has none.
    pub fn park(&self, worker: usize, limit: Option<Duration>) -> bool {
        let Some(queue) = self.queue(worker) else { return false };
        queue.look(limit, true);
        // See the head of this file.
        fence(SeqCst);
        true
    }

    /// Wakes a worker that sleeps in its queue. Returns false if it has none.
    pub fn wake(&self, worker: usize) -> bool {
        fence(SeqCst);
        let Some(queue) = self.queue(worker) else { return false };
        // It fails if the counter is full, in which case the worker is awake.
        _ = queue.waker.wake();
        true
    }

    fn queue(&self, worker: usize) -> Option<&Queue> {
        self.queues.get(worker)?.get()
    }

    fn queue_or_new(&self, worker: usize) -> Result<&Queue, PlatformError> {
        let cell = self.queues.get(worker).ok_or("the platform has no such worker")?;
        if let Some(queue) = cell.get() {
            return Ok(queue);
        }
        let failed = |cause| PlatformError::with_cause("cannot make a queue of events", cause);
        let queue = cell.get_or_try_init(|| Queue::new().map(Box::new)).map_err(failed)?;
        if let Some(thread) = &*self.threads[worker].lock() {
            thread.unpark();
        }
        queue.waker.wake().map_err(failed)?;
        Ok(queue)
    }
}

impl Queue {
    fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        Ok(Self {
            waker: Waker::new(&registry, WAKER)?,
            registry,
            poll: SpinMutex::new((poll, Events::with_capacity(MOST_EVENTS))),
            found: SpinMutex::new(Vec::new()),
            has_found: AtomicBool::new(false),
        })
    }

    /// Looks for events; waits for one at most for `limit`. Another thread may be in this queue
    /// already, and keeps what it finds for [`EventQueues::take`].
    fn look(&self, limit: Option<Duration>, is_sleeper: bool) {
        let Some(mut poll) = self.poll.try_lock() else { return };
        let (poll, events) = &mut *poll;
        // It fails if a signal comes, and the caller looks again.
        if poll.poll(events, limit).is_err() {
            return;
        }
        if !is_sleeper && events.iter().any(|event| event.token() == WAKER) {
            // A wake-up is reported once. It is for the thread that sleeps here, or is about to.
            _ = self.waker.wake();
        }
        let events = events.iter().filter(|event| event.token() != WAKER);
        let mut found = self.found.lock();
        found.extend(events.map(|event| (Token(event.token().0), ready(event))));
        if !found.is_empty() {
            // Release pairs with the Acquire of `has_events`.
            self.has_found.store(true, Release);
        }
    }

    fn has_events(&self) -> bool {
        self.has_found.load(Acquire)
    }
}

fn ready(event: &mio::event::Event) -> Ready {
    let is_closed = event.is_read_closed() || event.is_error();
    [
        (event.is_readable(), Ready::READABLE),
        (event.is_writable(), Ready::WRITABLE),
        (is_closed, Ready::CLOSED),
    ]
    .into_iter()
    .filter(|&(is_ready, _)| is_ready)
    .fold(Ready::default(), |all, (_, ready)| all | ready)
}

impl EventQueues for EventPolls {
    fn poll(&self, worker: usize) -> bool {
        let Some(queue) = self.queue(worker) else { return false };
        if !queue.has_events() {
            queue.look(Some(Duration::ZERO), false);
        }
        queue.has_events()
    }

    fn has_events(&self, worker: usize) -> bool {
        self.queue(worker).is_some_and(Queue::has_events)
    }

    fn take(&self, worker: usize, each: &mut dyn FnMut(Token, Ready)) {
        let Some(queue) = self.queue(worker) else { return };
        let mut found = {
            let mut found = queue.found.lock();
            queue.has_found.store(false, Release);
            mem::take(&mut *found)
        };
        for (token, ready) in found.drain(..) {
            each(token, ready);
        }
        // Its memory is used again.
        let mut newer = queue.found.lock();
        if newer.is_empty() {
            *newer = found;
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<S: mio::event::Source + ?Sized> Source for S {
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        let interest = match registration.interest() {
            Interest::Readable => mio::Interest::READABLE,
            Interest::Writable => mio::Interest::WRITABLE,
            Interest::Both => mio::Interest::READABLE | mio::Interest::WRITABLE,
        };
        let polls = polls(registration)?;
        let registry = &polls.queue_or_new(registration.worker())?.registry;
        let registered = registry.register(self, mio::Token(registration.token().0), interest);
        registered.map_err(|cause| PlatformError::with_cause("cannot register a source of events", cause))
    }

    fn deregister(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        let Some(queue) = polls(registration)?.queue(registration.worker()) else { return Ok(()) };
        let deregistered = queue.registry.deregister(self);
        deregistered.map_err(|cause| PlatformError::with_cause("cannot deregister a source of events", cause))
    }
}

fn polls<'a>(registration: &'a Registration<'_>) -> Result<&'a EventPolls, PlatformError> {
    let other = "sources of the operating system need the platform `Threads`";
    registration.queues().ok_or_else(|| other.into())
}
