//! What a panic does in code for which no thread waits.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) type Payload = Box<dyn Any + Send>;
pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

/// Calls a function, and returns the payload of its panic.
pub(crate) fn catch<R>(body: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(body))
}

/// Drops the payload of a panic that is not the first. Its destructor may panic as well, and so may
/// that of the payload of that panic; a third one is left.
pub(crate) fn discard(payload: Payload) {
    if let Err(second) = catch(|| drop(payload))
        && let Err(third) = catch(|| drop(second))
    {
        std::mem::forget(third);
    }
}

/// Ends the process if it is dropped, and not forgotten: by a panic, when jobs may be left that
/// borrow from frames below.
pub(crate) struct AbortIfPanic;

impl Drop for AbortIfPanic {
    fn drop(&mut self) {
        eprintln!("rayon-core on xtasking: a panic in the pool itself; the process ends");
        std::process::abort();
    }
}

/// Calls a function. A panic goes to the pool's handler; without one it ends the process.
pub(crate) fn catch_for(handler: Option<&PanicHandler>, body: impl FnOnce()) {
    let Err(payload) = catch(body) else { return };
    let handled = handler.map(|handler| catch(|| handler(payload)));
    if !matches!(handled, Some(Ok(()))) {
        eprintln!("rayon-core on xtasking: a panic that no thread waits for; the process ends");
        std::process::abort();
    }
}
