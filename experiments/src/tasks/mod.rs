//! The tasks experiment: the overhead of a task in this runtime and in its peers.
//!
//! A result is the wall-clock time from the first spawn to the end of the last task, divided by the
//! number of tasks. With several workers it falls if workers share the tasks. A task does almost
//! nothing except to increment a counter, from which the experiment checks that all tasks ran.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns, notes and conclusion |
//! | `cases` | the table of cases, with the implementations of each |
//! | `contenders` | the contenders by name |
//! | `stage` | the runtimes that a case runs on |
//! | `tally` | the counters of tasks |
//! | `lookups` | single lookups in a tree: what `own` and `peers` share |
//! | `own` | the cases on this runtime |
//! | `peers` | the cases on other runtimes, and on atomics |

mod cases;
mod contenders;
mod experiment;
mod lookups;
mod options;
mod own;
mod peers;
mod stage;
mod tally;

pub use options::TasksOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &TasksOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
