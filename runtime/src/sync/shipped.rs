//! Atomics, cells and waiting as they are shipped.

pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

pub(crate) use super::cell::UnsafeCell;

/// Whether a model checker is at work.
pub(crate) const MODEL: bool = false;

/// A sequentially consistent fence right after a read-modify-write by the same thread.
///
/// On x86-64 that instruction is a full barrier itself, whatever its order. So only the compiler
/// has to be kept from moving accesses across.
#[inline(always)]
pub(crate) fn fence_after_exchange() {
    if cfg!(all(target_arch = "x86_64", not(miri))) {
        core::sync::atomic::compiler_fence(super::SeqCst);
    } else {
        fence(super::SeqCst);
    }
}

/// Gives the core to another thread, where there is an operating system.
pub(crate) fn yield_now() {
    #[cfg(feature = "std")]
    std::thread::yield_now();
    #[cfg(not(feature = "std"))]
    core::hint::spin_loop();
}
