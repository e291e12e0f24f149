//! Why a runtime cannot be built or resized.

use crate::object::MAX_HOMES;
use crate::platform::{Misplaced, PlatformError};
use core::fmt;

/// Why a runtime cannot be built or resized.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A runtime needs at least one worker.
    NoWorkers,
    /// More workers than there can be: objects have at most 4096 homes, and a runtime keeps the
    /// number of run queues that it was built with
    /// ([`Builder::most_workers`](super::Builder::most_workers)).
    TooManyWorkers(usize),
    /// This process has 65536 runtimes already, counting those of which only objects are left.
    TooManyRuntimes,
    /// The workers cannot run where they are to run
    /// ([`Builder::placement`](super::Builder::placement)).
    Misplaced(Misplaced),
    /// The platform cannot start a worker, or the thread that watches the workers.
    Platform(PlatformError),
    /// The runtime has begun to end, so a [handle](super::RuntimeHandle) cannot resize it.
    ShutDown,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorkers => f.write_str("a runtime needs at least one worker"),
            Self::TooManyWorkers(workers) => {
                write!(
                    f,
                    "{workers} workers are too many: a runtime has at most {MAX_HOMES}, or as many as \
                     `Builder::most_workers` says"
                )
            }
            Self::TooManyRuntimes => f.write_str("there are too many runtimes in this process"),
            Self::Misplaced(why) => write!(f, "invalid placement: {why}"),
            Self::Platform(why) => why.fmt(f),
            Self::ShutDown => f.write_str("the runtime has begun to end and cannot be resized"),
        }
    }
}

impl core::error::Error for BuildError {}
