//! The hierarchy experiment: tasks on sub-trees of hierarchies, real ones and others.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `cases` | the hierarchies and tasks of the turns |
//! | `turn` | all tasks on a fresh hierarchy |
//! | `changes` | the same with tasks that change the hierarchy, and panic |
//! | `ground` | what all turns have in common: a runtime, and its time |
//! | `figures` | what was seen besides |
//! | `contenders` | who takes part |
//! | [`sources`] | the hierarchies, by name |
//! | [`load`] | tasks that name nodes, and how often they are taken to meet without need |

mod cases;
mod changes;
pub(crate) mod contenders;
mod experiment;
mod figures;
mod ground;
pub mod load;
mod options;
pub mod sources;
mod turn;

pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    let options = options.completed();
    experiment::Experiment::new(&options)?.carry_out(&options.common)
}
