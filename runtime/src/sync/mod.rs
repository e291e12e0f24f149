//! Synchronization primitives of the runtime: one shim for atomics, which a model checker can
//! replace, and what is built on it.
//!
//! | `--cfg` | atomics, cells and waiting |
//! |---|---|
//! | none | those of `core`, with nothing added |
//! | `model="loom"` | loom's: every execution that the orderings allow, for a few threads |
//! | `model="shuttle"` | core's, with a possible thread switch at each access |
//!
//! Constants that only set sizes shrink with [`under_model`], so that models reach the ends of what
//! they check.
//!
//! | file | what is in it |
//! |---|---|
//! | `asymmetric` | the cheap side of a fence of which another thread pays both sides |
//! | `backoff` | waiting for a thread that is about to finish |
//! | `cell` | a cell whose accesses a model checker can see |
//! | `forks` | how often the process was forked |
//! | `global` | atomics and a lock for statics |
//! | `handoff` | a hand-off cell between two workers |
//! | `latch` | the latch word of an object |
//! | `mutex` | a spinning lock for slow paths |
//! | `model` | atomics under a model checker |
//! | `shipped` | atomics as they are shipped |

mod asymmetric;
mod backoff;
#[cfg(not(model = "loom"))]
mod cell;
mod forks;
pub(crate) mod global;
mod handoff;
mod latch;
mod mutex;
#[cfg_attr(not(any(model = "loom", model = "shuttle")), path = "shipped.rs")]
#[cfg_attr(any(model = "loom", model = "shuttle"), path = "model.rs")]
mod source;

pub use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
pub use source::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

pub(crate) use asymmetric::light_fence;
pub(crate) use backoff::Backoff;
#[cfg(all(feature = "std", unix))]
pub(crate) use forks::count_fork;
pub(crate) use forks::forks;
pub(crate) use handoff::HandoffCell;
pub(crate) use latch::{LatchState, LatchWord, LiveWord, Stamp};
pub(crate) use mutex::{Guard, SpinMutex};
pub(crate) use source::{MODEL, UnsafeCell, fence_after_exchange, yield_now};

/// Returns `shipped`, or `small` under a model checker, which could not exhaust the larger size.
pub(crate) const fn under_model(shipped: u64, small: u64) -> u64 {
    if MODEL { small } else { shipped }
}

/// Returns how many probes of an idle worker take about as long as this many that are optimised: a
/// worker of a debug build would otherwise spin for most of the time that a test takes.
pub(crate) const fn probes(optimised: u64) -> u64 {
    if cfg!(debug_assertions) { optimised / 10 } else { optimised }
}

/// Keeps a value on cache lines of its own (two, because the processor prefetches them in pairs).
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub T);
