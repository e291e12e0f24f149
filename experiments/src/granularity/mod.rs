//! The granularity experiment: the minimum of many records, found by tasks of 10 to 10 million
//! records each.
//!
//! The smaller the tasks, the larger the share of their overhead. For large tasks the throughput is
//! flat, as the records take all the time; the task size below which it falls shows the overhead of
//! a task.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns, notes and conclusion |
//! | `records` | the records, and their division into tasks |
//! | `lanes` | spawning on this runtime |
//! | `contenders` | the contenders by name |

mod contenders;
mod experiment;
mod lanes;
mod options;
mod records;

pub use options::GranularityOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &GranularityOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
