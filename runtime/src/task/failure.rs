//! What can become of a task besides a result.

use super::guard::Payload;
use crate::scheduler::Shared;
use crate::sync::SpinMutex;
use alloc::boxed::Box;
use core::any::Any;
use core::fmt;

/// Why a task has no result.
pub enum JoinError {
    /// Its body panicked; this is the panic's payload.
    Panicked(PanicPayload),
    /// It was cancelled before it started, by its handle or by the runtime's shutdown.
    Cancelled,
    /// An object it needed, or a granule, was left half-written by a task that panicked; see
    /// [`Object::clear_poison`](crate::Object::clear_poison) and
    /// [`Claim::even_poisoned`](crate::Claim::even_poisoned).
    Poisoned,
    /// A link led it to an object of another runtime, whose tasks nothing keeps apart from those of this one.
    Foreign,
    /// There was no memory for its descriptor, or for what it claims: the limit of
    /// [`Builder::memory_limit`](crate::Builder::memory_limit) is reached, or the platform has no more. The spawn
    /// failed before anything else happened; the body was dropped.
    OutOfMemory,
    /// Who was to complete it was dropped without doing so.
    Abandoned,
    /// The wait would block a worker of the runtime that has to do the work; await the handle, or spawn a
    /// follow-up.
    WouldBlock,
}

impl JoinError {
    pub(crate) fn panicked(payload: Payload) -> Self {
        Self::Panicked(PanicPayload(payload))
    }

    /// The first of two failures, if there is any. The other one is application data, whose end may panic.
    #[inline(always)]
    pub(crate) fn first_of(one: Result<(), Self>, other: Result<(), Self>) -> Result<(), Self> {
        match (one, other) {
            (Err(error), Err(other)) => {
                super::quietly(|| drop(other));
                Err(error)
            }
            (one, other) => one.and(other),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(payload) => write!(f, "the task panicked: {}", payload.message()),
            Self::Cancelled => f.write_str("the task was cancelled before it started"),
            Self::Poisoned => f.write_str("an object of the task is poisoned by an earlier panic"),
            Self::Foreign => f.write_str("an object of the task belongs to another runtime"),
            Self::OutOfMemory => f.write_str("there was no memory left to spawn the task"),
            Self::Abandoned => f.write_str("the task's result was never delivered"),
            Self::WouldBlock => f.write_str("a worker cannot wait for a task of its own runtime"),
        }
    }
}

impl core::error::Error for JoinError {}

/// A failure that nobody waits for; the runtime's hook is told.
#[derive(Debug)]
pub struct Failure {
    /// What happened.
    pub error: JoinError,
    /// Index of the worker on which it happened; `None` if a thread outside the runtime could not spawn the task, or is
    /// the one that nobody waits for the task any more.
    pub worker: Option<usize>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worker {
            Some(worker) => {
                write!(f, "a task that nobody waits for failed on worker {worker}: {}", self.error)
            }
            None => write!(f, "a task that nobody waits for failed outside of the runtime: {}", self.error),
        }
    }
}

/// The first of several failures, for one who waits for all of them.
#[derive(Default)]
pub(crate) struct FirstFailure(SpinMutex<Option<JoinError>>);

impl FirstFailure {
    /// Keeps the failure if it is the first; others are told to the hook.
    #[cold]
    pub fn note(&self, error: JoinError, shared: &Shared, worker: Option<usize>) {
        let mut first = self.0.lock();
        if first.is_none() {
            *first = Some(error);
        } else {
            drop(first);
            shared.report(error, worker);
        }
    }

    pub fn take(&self) -> Option<JoinError> {
        self.0.lock().take()
    }
}

/// What a panic was called with.
pub struct PanicPayload(Box<dyn Any + Send + 'static>);

// SAFETY: behind a shared reference nothing can be reached but text, which may be read by several threads at once.
unsafe impl Sync for PanicPayload {}

impl PanicPayload {
    /// The text, where it is one.
    pub fn message(&self) -> &str {
        let text = self.0.downcast_ref::<&'static str>().copied();
        let text = text
            .or_else(|| self.0.downcast_ref::<alloc::string::String>().map(alloc::string::String::as_str));
        text.unwrap_or("(a payload that is no text)")
    }

    /// The payload itself, to be examined or thrown on.
    pub fn into_inner(self) -> Box<dyn Any + Send + 'static> {
        self.0
    }
}
