//! Which threads have driven a worker.
//!
//! A call that may not wait on a worker asks this first. Most threads never drive one, so that they
//! need not ask the platform.

use super::RuntimeState;
use core::cell::Cell;
use core::ptr;

std::thread_local! {
    static HAS_DRIVEN: Cell<bool> = const { Cell::new(false) };
    /// The runtime of the task that blocks in place on this thread; null if none does.
    static BLOCKED_IN: Cell<*const RuntimeState> = const { Cell::new(ptr::null()) };
}

/// Records that the calling thread drives a worker, of any runtime.
#[inline(always)]
pub(super) fn set_driven() {
    HAS_DRIVEN.set(true);
}

/// Returns true if the calling thread drives a worker of some runtime, or once did.
#[inline(always)]
pub(super) fn has_driven() -> bool {
    HAS_DRIVEN.get()
}

/// Returns true if a task of this runtime blocks in place on the calling thread.
pub(super) fn is_blocked_in(shared: &RuntimeState) -> bool {
    // The threads of shuttle share one thread of the system.
    !cfg!(model = "shuttle") && ptr::eq(BLOCKED_IN.get(), shared)
}

/// Runs the function of a task of this runtime that blocks in place.
pub(super) fn run_blocked_in<R>(shared: &RuntimeState, function: impl FnOnce() -> R) -> R {
    struct Restore(*const RuntimeState);
    impl Drop for Restore {
        fn drop(&mut self) {
            BLOCKED_IN.set(self.0);
        }
    }
    let _restore = Restore(BLOCKED_IN.replace(shared));
    function()
}
