//! The granularity experiment: the least value of many records, by tasks of 10 to 10 million records each.
//!
//! The smaller the tasks, the more of the time goes into spawning and running them. So the figure is flat on the right,
//! where the records take all the time, and the sooner it falls on the way to the left, the more a task costs.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `records` | what is aggregated, and how it is cut into tasks |
//! | `lanes` | how tasks are spawned on this runtime |
//! | `contenders` | who takes part |

mod contenders;
mod experiment;
mod lanes;
mod options;
mod records;

pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
