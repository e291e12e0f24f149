//! The Cholesky experiment: a symmetric matrix A is taken apart into L and its transpose, by tiles.
//!
//! The tiles depend on each other in a way that is known and irregular, so this asks more of a runtime than a tree of
//! joins: with small tiles the tasks are short, and there are many. The result is checked by multiplying it out.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `tiles` | matrices in tiles, and the check of a result |
//! | `kernels` | the four things that are done to tiles |
//! | `contenders` | who takes part |

mod contenders;
mod experiment;
mod flow;
pub(crate) mod kernels;
mod options;
pub(crate) mod tiles;

pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
