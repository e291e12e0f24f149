//! Atomics, cells and waiting as they are shipped.

pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

pub(crate) use super::cell::UnsafeCell;

/// Whether a model checker is at work.
pub(crate) const MODEL: bool = false;

/// Gives the core to another thread, where there is an operating system.
pub(crate) fn yield_now() {
    #[cfg(feature = "std")]
    std::thread::yield_now();
    #[cfg(not(feature = "std"))]
    core::hint::spin_loop();
}
