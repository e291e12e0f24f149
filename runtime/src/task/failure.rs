//! Why a task has no result, and panics as values.

use super::guard::{Payload, discard};
use crate::scheduler::RuntimeState;
use crate::sync::SpinMutex;
use alloc::boxed::Box;
use core::any::Any;
use core::fmt;
use core::mem::ManuallyDrop;

/// Why a task has no result.
#[non_exhaustive]
pub enum JoinError {
    /// Its body panicked, with this payload.
    Panicked(PanicPayload),
    /// It was cancelled before it started, by its handle or by the runtime's shutdown.
    Cancelled,
    /// It had not started by its [deadline](crate::TaskBuilder::deadline).
    DeadlineExceeded,
    /// An object or granule that it needed was left half-written by a task that panicked. A task
    /// with [`Write::even_poisoned`](crate::task::Write::even_poisoned) or
    /// [`Claim::even_poisoned`](crate::Claim::even_poisoned) mends it, and
    /// [`Object::clear_poison`](crate::Object::clear_poison) declares it sound.
    /// [`ObjectBuilder::keep_on_panic`](crate::ObjectBuilder::keep_on_panic) prevents this.
    Poisoned,
    /// A link led to an object of another runtime, whose tasks are not isolated from those of this
    /// one.
    Foreign,
    /// A link led to an object that was freed with its [arena](crate::arena::Arena) or
    /// [array](crate::arena::Array).
    Freed,
    /// It names the same object twice, and writes it. This is for tasks with a
    /// [list](crate::task::AccessSet#lists) of accesses; a tuple panics at the spawn.
    NamedTwice,
    /// There was no memory for its descriptor, or for its claim: the limit of
    /// [`Builder::memory_limit`](crate::Builder::memory_limit) is reached, or the platform has no
    /// more. The spawn failed before it had any effect; the body was dropped.
    OutOfMemory,
    /// The promise, or what else was to deliver the result, was dropped first.
    Abandoned,
    /// A [`RuntimeHandle`](crate::RuntimeHandle) was to spawn it, and the runtime has begun to end.
    /// The body was dropped.
    ShutDown,
    /// The wait would block a worker of the runtime that has to do the work. Await the handle, or
    /// spawn a follow-up instead.
    WouldBlock,
    /// This process was forked from the one that has the runtime's workers, so that its tasks never
    /// run here. Build a runtime of its own in the forked process.
    Forked,
}

impl JoinError {
    pub(crate) fn panicked(payload: Payload) -> Self {
        Self::Panicked(PanicPayload::new(payload))
    }

    /// Returns the reason for which a spawn was refused, for each of the functions that it was to
    /// run.
    pub(crate) fn repeated(&self) -> fn() -> Self {
        if matches!(self, Self::ShutDown) { || Self::ShutDown } else { || Self::OutOfMemory }
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
            Self::DeadlineExceeded => f.write_str("the task had not started by its deadline"),
            Self::Poisoned => f.write_str("an object of the task is poisoned by an earlier panic"),
            Self::Foreign => f.write_str("an object of the task belongs to another runtime"),
            Self::Freed => f.write_str("an object of the task was freed with its arena or array"),
            Self::NamedTwice => f.write_str("the task names the same object twice, and writes it"),
            Self::OutOfMemory => f.write_str("there was no memory left to spawn the task"),
            Self::Abandoned => f.write_str("the task's result was never delivered"),
            Self::ShutDown => f.write_str("the runtime has begun to end and takes no more tasks"),
            Self::WouldBlock => f.write_str("a worker cannot wait for a task of its own runtime"),
            Self::Forked => f.write_str("this process was forked, and the runtime's workers are not in it"),
        }
    }
}

impl core::error::Error for JoinError {}

/// A failure of a task without a handle, as the runtime's hook receives it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure {
    /// What happened.
    pub error: JoinError,
    /// Index of the worker on which it happened. `None` if a thread outside the runtime could not
    /// spawn the task, or dropped the last thing that could have received the failure.
    pub worker: Option<usize>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worker {
            Some(worker) => {
                write!(f, "a task without a handle failed on worker {worker}: {}", self.error)
            }
            None => write!(f, "a task without a handle failed outside the runtime: {}", self.error),
        }
    }
}

/// Keeps the first of several failures, for one waiter.
#[derive(Default)]
pub(crate) struct FirstFailure(SpinMutex<Option<JoinError>>);

impl FirstFailure {
    /// Keeps the failure if it is the first, else reports it to the hook.
    #[cold]
    pub fn note(&self, error: JoinError, shared: &RuntimeState, worker: Option<usize>) {
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

/// The payload of a panic.
///
/// A payload that is dropped with its error may panic in its own destructor: that panic is
/// discarded, wherever it happens.
pub struct PanicPayload(ManuallyDrop<Payload>);

impl Drop for PanicPayload {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: taken once: `into_inner`, the other place that takes it, forgets `self`.
        let payload = unsafe { ManuallyDrop::take(&mut self.0) };
        if planted!("payload-dropped-unguarded") {
            return drop(payload);
        }
        discard(payload);
    }
}

// SAFETY: a shared reference gives access to text only, which is `Sync`.
unsafe impl Sync for PanicPayload {}

impl PanicPayload {
    /// Keeps the payload of a panic that was caught, to be passed on as a
    /// [`JoinError::Panicked`].
    pub fn new(payload: Box<dyn Any + Send + 'static>) -> Self {
        Self(ManuallyDrop::new(payload))
    }

    /// Returns the payload's text, or a substitute if it is no text.
    pub fn message(&self) -> &str {
        let text = self.0.downcast_ref::<&'static str>().copied();
        let text = text
            .or_else(|| self.0.downcast_ref::<alloc::string::String>().map(alloc::string::String::as_str));
        text.unwrap_or("(the payload is not a string)")
    }

    /// Returns the payload, to be examined or to resume the panic.
    pub fn into_inner(self) -> Box<dyn Any + Send + 'static> {
        let mut payload = ManuallyDrop::new(self);
        // SAFETY: taken once: `self` is forgotten, so that its destructor does not run.
        unsafe { ManuallyDrop::take(&mut payload.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_passed_on_as_an_error() {
        let error = JoinError::Panicked(PanicPayload::new(Box::new("cold")));
        assert_eq!(alloc::format!("{error}"), "the task panicked: cold");
        let JoinError::Panicked(payload) = error else { unreachable!() };
        assert_eq!(payload.into_inner().downcast_ref(), Some(&"cold"));
    }

    #[test]
    fn a_failure_names_the_worker() {
        let failure = Failure { error: JoinError::Poisoned, worker: Some(3) };
        let text = alloc::format!("{failure}");
        assert!(text.starts_with("a task without a handle failed on worker 3: an object of the task is poi"));
    }
}
