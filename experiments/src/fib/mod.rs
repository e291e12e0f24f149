//! The fork-join experiment: Fibonacci numbers by double recursion, which does little but fork and
//! join.
//!
//! A result is the total wall-clock time divided by the number of joins. With several workers it
//! falls if they share the work. The sequential function, without forks, shows the cost of the
//! rest.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns, notes and conclusion |
//! | `number` | Fibonacci numbers, and the number of joins that they take |
//! | `contenders` | the contenders by name |

mod contenders;
mod experiment;
pub(crate) mod number;
mod options;

pub use options::FibOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &FibOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
