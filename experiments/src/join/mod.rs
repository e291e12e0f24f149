//! The join experiment: a hash join of two tables that are larger than the caches.
//!
//! The build side has unique keys. Each row of the probe side, most of which has a match there, is
//! looked up. The result is the number of matches and the sum of all their payloads.
//!
//! A contender either lets all threads build and probe one table, which costs a cache miss for each
//! row, or first divides both sides by the hash of the key, so that the table of each part stays in
//! the cache.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | [`rows`] | the two sides, and the expected result |
//! | `table` | hash tables of all rows: of one thread, and shared by all |
//! | `partition` | dividing rows by their hash |
//! | `chains` | the hash table of one part |
//! | `contenders` | the contenders, a file for each library |

mod chains;
mod contenders;
mod experiment;
mod options;
mod partition;
pub mod rows;
mod table;

pub use options::JoinOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &JoinOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
