//! The hierarchy experiment: tasks on sub-trees of hierarchies, real ones and others.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `turn` | all tasks on a fresh hierarchy |
//! | `contenders` | who takes part |
//! | [`sources`] | the hierarchies, by name |
//! | [`load`] | tasks that name nodes, and how often they are taken to meet without need |

pub(crate) mod contenders;
mod experiment;
pub mod load;
mod options;
pub mod sources;
mod turn;

pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
