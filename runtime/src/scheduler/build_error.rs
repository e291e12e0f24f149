//! Why a runtime could not be built.

use crate::object::MAX_HOMES;
use crate::platform::Misplaced;
use core::fmt;

/// Why a runtime could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// A runtime needs at least one worker.
    NoWorkers,
    /// More workers than there can be: objects have only so many homes, and a runtime has the number of pools that it was
    /// built with ([`Builder::most_workers`](super::Builder::most_workers)).
    TooManyWorkers(usize),
    /// 65536 runtimes are there already, or objects of theirs.
    TooManyRuntimes,
    /// The workers cannot be where they were to be ([`Builder::placement`](super::Builder::placement)).
    Misplaced(Misplaced),
    /// The platform could not start a worker, or not watch over them.
    Platform(&'static str),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorkers => f.write_str("a runtime needs at least one worker"),
            Self::TooManyWorkers(workers) => {
                write!(
                    f,
                    "{workers} workers are more than the runtime can have (at most {MAX_HOMES}, if built for them)"
                )
            }
            Self::TooManyRuntimes => f.write_str("there are too many runtimes in this process"),
            Self::Misplaced(why) => write!(f, "the workers cannot be placed so: {why}"),
            Self::Platform(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for BuildError {}
