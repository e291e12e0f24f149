//! The fork–join experiment: Fibonacci numbers by the worst algorithm there is, which does nothing but fork and join.
//!
//! A number is the time of the whole, divided by the number of joins; with several workers it falls where they help each
//! other. The plain function, which forks nothing, shows what the rest of it costs.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `contenders` | who takes part |

mod contenders;
mod experiment;
mod options;

pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
