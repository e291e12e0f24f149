//! The experiment on balance: work that a program divides into long pieces, in several shapes.
//!
//! A piece computes for a while, and neither forks nor joins. Together the pieces take as long as
//! the sequential loop; with several workers that is to be divided by their number, whatever the
//! shape. A result is the wall-clock time of all pieces, of which the check sum is compared.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `shape` | how work is divided |
//! | `contenders` | the contenders by name |

mod contenders;
mod experiment;
mod options;
mod shape;

pub use options::DivideOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &DivideOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
