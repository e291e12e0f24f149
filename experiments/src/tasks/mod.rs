//! The tasks experiment: what the runtime itself costs, beside its peers.
//!
//! A number is the time from the first spawn to the last task, divided by the number of tasks; with several workers it is
//! the time of the clock on the wall all the same, so that it falls where workers help each other. The tasks do next to
//! nothing, but every one leaves a trace, and the traces are counted.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work |
//! | `cases` | what is measured, by whom |
//! | `stage` | the runtimes that take turns |
//! | `runner` | the turns |
//! | `tally` | the traces of tasks |
//! | `own` | the cases on this runtime |
//! | `peers` | the cases on those of others, and on bare atomics |

mod cases;
mod experiment;
mod options;
mod own;
mod peers;
mod runner;
mod stage;
mod tally;

pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
