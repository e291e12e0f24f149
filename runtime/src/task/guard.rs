//! Panics in application code.
//!
//! Catching a panic around each body costs more than many bodies do. So a worker catches once around a burst of tasks,
//! and around each body stands a guard: if the body unwinds, the guard leaves behind what is to be done about it, and
//! the worker does it with the panic's payload, and goes on with the next task.

use crate::scheduler::Context;
use alloc::boxed::Box;
use alloc::string::String;
use core::any::Any;
use core::mem::ManuallyDrop;

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// What is to be done about a panic, by the worker on which it happened.
pub(crate) type Aftermath = Box<dyn FnOnce(Payload, &mut Context)>;

/// Runs application code. If it returns, its result comes back, and `state` with it. If it unwinds, so does this, and
/// the worker will call `on_panic`.
#[inline(always)]
pub(crate) fn guarded<S: 'static, R>(
    cx: &mut Context,
    state: S,
    on_panic: fn(S, Payload, &mut Context),
    run: impl FnOnce(&S, &mut Context) -> R,
) -> (R, S) {
    let cx: *mut Context = cx;
    let mut guard = Guard { state: ManuallyDrop::new(state), on_panic, cx };
    // SAFETY: derived from the exclusive borrow above, which is not used otherwise meanwhile.
    let result = run(&guard.state, unsafe { &mut *cx });
    // SAFETY: taken once: the guard is forgotten.
    let state = unsafe { ManuallyDrop::take(&mut guard.state) };
    core::mem::forget(guard);
    (result, state)
}

struct Guard<S: 'static> {
    state: ManuallyDrop<S>,
    on_panic: fn(S, Payload, &mut Context),
    cx: *mut Context,
}

impl<S> Drop for Guard<S> {
    /// Only while unwinding: otherwise the guard is forgotten.
    #[cold]
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let state = unsafe { ManuallyDrop::take(&mut self.state) };
        let on_panic = self.on_panic;
        // SAFETY: the context is that of `guarded`, whose body does not use it any more.
        let cx = unsafe { &mut *self.cx };
        cx.aftermath = Some(Box::new(move |payload, cx: &mut Context| on_panic(state, payload, cx)));
    }
}

/// Runs application code whose panic nobody can be told of, such as the drop of what it left behind.
pub(crate) fn quietly(run: impl FnOnce()) {
    if let Err(payload) = catch(run) {
        discard(payload);
    }
}

/// Throws away what a panic carries. Its drop may panic as well; what that carries is forgotten unless it is a text, as
/// it may go on like this for ever.
pub(crate) fn discard(payload: Payload) {
    if let Err(another) = catch(|| drop(payload))
        && !another.is::<&'static str>()
        && !another.is::<String>()
    {
        core::mem::forget(another);
    }
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
