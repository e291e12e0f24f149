//! What every other room uses to synchronise: one shim for atomics, so that a model checker can stand in for
//! them, and the primitives that the runtime injects.

mod backoff;
mod latch;
mod mutex;

pub use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

pub(crate) use backoff::Backoff;
pub(crate) use latch::{LatchWord, Stamp};
pub(crate) use mutex::SpinMutex;

/// Keeps a value on cache lines of its own (two, because the processor fetches them in pairs).
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub T);
