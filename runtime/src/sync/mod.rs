//! What every other room uses to synchronise: one shim for atomics, so that a model checker can stand in for
//! them, and the primitives that the runtime injects.
//!
//! | `--cfg` | atomics, cells and waiting |
//! |---|---|
//! | none | those of `core`, with nothing added |
//! | `model="loom"` | loom's: every execution that the orderings allow, of a few threads and steps |
//! | `model="shuttle"` | core's, each access a point where another thread may go on: random schedules of everything |
//!
//! The constants that only set sizes shrink with [`under_model`], so that models reach the ends of what they check.

mod backoff;
#[cfg(not(model = "loom"))]
mod cell;
mod hatch;
mod latch;
mod mutex;
#[cfg_attr(not(any(model = "loom", model = "shuttle")), path = "shipped.rs")]
#[cfg_attr(any(model = "loom", model = "shuttle"), path = "model.rs")]
mod source;

pub use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
pub use source::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

pub(crate) use backoff::Backoff;
pub(crate) use hatch::Hatch;
pub(crate) use latch::{LatchWord, Stamp};
pub(crate) use mutex::{Guard, SpinMutex};
pub(crate) use source::{MODEL, UnsafeCell, yield_now};

/// Atomics for statics, which outlive every execution that a model checker looks at: always those of `core`.
pub(crate) mod global {
    pub use core::sync::atomic::AtomicU64;
}

/// A size: `shipped`, but `small` under a model checker, which would not get to the end of a large one.
pub(crate) const fn under_model(shipped: u64, small: u64) -> u64 {
    if MODEL { small } else { shipped }
}

/// Keeps a value on cache lines of its own (two, because the processor fetches them in pairs).
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub T);
