//! The map experiment: a hash map from `u64` to `u64` that is larger than the caches.
//!
//! Each operation accesses one or two cache lines that are in no cache, so its time is that of a
//! cache miss. A loop that fetches lines some keys ahead overlaps the misses; it is the bar for
//! maps that hide them.
//!
//! A turn inserts all records into a fresh map, and then looks up drawn keys in it. The keys of a
//! turn are known at its beginning, so a contender may work on many of them at once.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `workload` | the records, the keys that are looked up, and the checks of results |
//! | `contender` | what a contender does |
//! | `threads` | maps that threads share, and the threads |
//! | `contenders` | the contenders, a file for each |

mod contender;
mod contenders;
mod experiment;
mod options;
mod threads;
mod workload;

pub use options::MapOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &MapOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
