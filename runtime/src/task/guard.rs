//! Panics in user code.
//!
//! To catch a panic around each body would cost more than many bodies do. So a worker catches once
//! around a burst of tasks, and each body runs under a guard. If the body unwinds, the guard leaves
//! an [`Aftermath`]; the worker calls it with the panic's payload, and continues with the next
//! task.

use crate::scheduler::Worker;
use alloc::boxed::Box;
use alloc::string::String;
use core::any::Any;
use core::mem::{ManuallyDrop, needs_drop};

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// What is left to do after a panic, for the worker on which it happened.
pub(crate) type Aftermath = Box<dyn FnOnce(Payload, &mut Worker)>;

/// Runs user code. Returns its result and `state`. If the code unwinds, so does this function, and
/// the worker calls `on_panic` with the state later.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn guarded<S: 'static, R>(
    cx: &mut Worker,
    state: S,
    on_panic: fn(S, Payload, &mut Worker),
    run: impl FnOnce(&S, &mut Worker) -> R,
) -> (R, S) {
    let cx: *mut Worker = cx;
    let mut guard = PanicGuard { state: ManuallyDrop::new(state), on_panic, cx };
    // SAFETY: derived from the exclusive borrow above; the guard uses its copy only after `run` has
    // unwound.
    let result = run(&guard.state, unsafe { &mut *cx });
    // SAFETY: taken once: the guard is forgotten below, so its destructor does not run.
    let state = unsafe { ManuallyDrop::take(&mut guard.state) };
    core::mem::forget(guard);
    (result, state)
}

struct PanicGuard<S: 'static> {
    state: ManuallyDrop<S>,
    on_panic: fn(S, Payload, &mut Worker),
    cx: *mut Worker,
}

impl<S> Drop for PanicGuard<S> {
    /// Runs only while unwinding: otherwise the guard is forgotten.
    #[cold]
    fn drop(&mut self) {
        // SAFETY: taken once: a destructor runs once, and `guarded` forgets the guard before it
        // takes the state.
        let state = unsafe { ManuallyDrop::take(&mut self.state) };
        let on_panic = self.on_panic;
        // SAFETY: the worker borrowed by `guarded`; the body that used it has unwound.
        let cx = unsafe { &mut *self.cx };
        leave_aftermath(cx, Box::new(move |payload, cx: &mut Worker| on_panic(state, payload, cx)));
    }
}

/// Leaves to the worker what to do after a panic. One function for all types.
fn leave_aftermath(cx: &mut Worker, aftermath: Aftermath) {
    cx.aftermath = Some(aftermath);
}

/// Runs user code and discards its panic; for destructors, whose panics no handle receives.
pub(crate) fn quietly(run: impl FnOnce()) {
    if let Err(payload) = catch(run) {
        discard(payload);
    }
}

/// Drops a value of user code and discards a panic of its destructor. It is compiled once for each
/// type: tasks drop the same one in several places.
pub(crate) fn drop_quietly<T>(value: T) {
    if const { needs_drop::<T>() } {
        // A trait of one method, and not a closure: as few functions as possible for each type.
        clear_quietly(&mut Some(value));
    }
}

/// A place whose value can be dropped without knowing its type.
trait Clear {
    /// Drops the value.
    fn clear(&mut self);
}

impl<T> Clear for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }
}

fn clear_quietly(place: &mut dyn Clear) {
    quietly(|| place.clear());
}

/// Drops the payload of a panic. The payload's destructor may panic as well; the second payload is
/// leaked unless it is a text, because its destructor might panic again without end.
pub(crate) fn discard(payload: Payload) {
    if let Err(another) = catch(|| drop(payload))
        && !another.is::<&'static str>()
        && !another.is::<String>()
    {
        core::mem::forget(another);
    }
}

/// Runs user code, and returns its panic as a value. Without `unwind` a panic is not caught.
#[inline(always)]
pub(crate) fn catch<R>(run: impl FnOnce() -> R) -> Result<R, Payload> {
    #[cfg(feature = "unwind")]
    {
        // Unwind safe: the caller drops or poisons whatever the code left half-done.
        std::panic::catch_unwind(core::panic::AssertUnwindSafe(run))
    }
    #[cfg(not(feature = "unwind"))]
    {
        Ok(run())
    }
}

/// Continues a panic that was caught.
#[cold]
pub(crate) fn throw(payload: Payload) -> ! {
    #[cfg(feature = "unwind")]
    std::panic::resume_unwind(payload);
    // Without `unwind` no panic is caught, so there is none to continue.
    #[cfg(not(feature = "unwind"))]
    unreachable!("a panic was caught without `unwind`: {payload:?}")
}
