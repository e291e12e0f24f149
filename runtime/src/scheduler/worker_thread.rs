//! Which threads have driven a worker.
//!
//! A call that may not wait on a worker asks this first. Most threads never drive one, so that they
//! need not ask the platform.

use core::cell::Cell;

std::thread_local! {
    static HAS_DRIVEN: Cell<bool> = const { Cell::new(false) };
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
