//! The pools experiment: eager tasks that are bound to nothing, on every pool there is, beside rayon and tokio; on the
//! machine's own cores, and on virtual ones, of which there may be as many as anybody likes.
//!
//! On the machine a number is the time of the clock on the wall, divided by the number of tasks. λ is how much longer the
//! busiest worker was busy with tasks than all are on average, as a part of that average (max ÷ mean − 1).
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `work` | what is done: many empty tasks of one spawner, Fibonacci's tree of calls, or a matrix taken apart |
//! | `graph` | the tasks on a matrix's tiles, and what each of them waits for |
//! | `factor` | the same for another experiment |
//! | `crew` | who runs tasks, so that the work is written once |
//! | `tally` | the traces of tasks |
//! | `contenders` | the pools and their peers, on threads |
//! | `simulated` | the pools on virtual cores |

mod contenders;
mod crew;
mod experiment;
pub(crate) mod factor;
mod graph;
mod options;
mod simulated;
mod tally;
mod work;

pub use options::Options;
pub(crate) use tally::imbalance;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
