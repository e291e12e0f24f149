//! What can become of a task besides a result.

use alloc::boxed::Box;
use core::any::Any;
use core::fmt;

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// Why a task has no result.
pub enum JoinError {
    /// Its body panicked; this is the panic's payload.
    Panicked(Box<dyn Any + Send + 'static>),
    /// It was cancelled before it started, by its handle or by the runtime's shutdown.
    Cancelled,
    /// An object it needed was left half-written by a task that panicked; see
    /// [`Object::clear_poison`](crate::Object::clear_poison).
    Poisoned,
    /// Who was to complete it was dropped without doing so.
    Abandoned,
    /// The wait would block a worker of the runtime that has to do the work; await the handle, or spawn a
    /// follow-up.
    WouldBlock,
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(payload) => write!(f, "the task panicked: {}", message(payload)),
            Self::Cancelled => f.write_str("the task was cancelled before it started"),
            Self::Poisoned => f.write_str("an object of the task is poisoned by an earlier panic"),
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
    /// Index of the worker on which it happened.
    pub worker: usize,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a task that nobody waits for failed on worker {}: {}", self.worker, self.error)
    }
}

/// The text of a panic's payload, where it is one.
fn message(payload: &Payload) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<alloc::string::String>().map(alloc::string::String::as_str))
        .unwrap_or("(a payload that is no text)")
}

/// Runs application code; its panic comes back as a value. Without `std` a panic does not unwind.
#[inline(always)]
pub(crate) fn catch<R>(run: impl FnOnce() -> R) -> Result<R, Payload> {
    #[cfg(feature = "std")]
    {
        // Whatever the code left behind is either dropped with it or poisoned by the caller.
        std::panic::catch_unwind(core::panic::AssertUnwindSafe(run))
    }
    #[cfg(not(feature = "std"))]
    {
        Ok(run())
    }
}
