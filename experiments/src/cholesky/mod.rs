//! The Cholesky experiment: factorisation of a symmetric positive definite matrix A = L Lᵀ by
//! tiles.
//!
//! The tasks form an irregular dependency graph, which demands more of a runtime than a tree of
//! joins. Small tiles make many short tasks. The result is checked by multiplying it out.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `flow` | factorisation as dataflow |
//! | `factor` | factorisation by the task graph of the pools experiment |
//! | `contenders` | the contenders by name |

mod contenders;
mod experiment;
mod factor;
mod flow;
mod options;

pub use options::CholeskyOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &CholeskyOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
