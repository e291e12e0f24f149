//! Implements the hierarchy experiment: tasks on sub-trees of real and generated hierarchies.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `cases` | the hierarchies and tasks of the turns |
//! | `turn` | all tasks on a fresh hierarchy |
//! | `granules` | the hierarchy of a turn on granules |
//! | `counter_tree` | the hierarchy of a turn as a tree of the runtime |
//! | `changes` | turns with tasks that change the hierarchy, and panic |
//! | `testbed` | the runtime of a turn, and its clock |
//! | `figures` | latency, load and conflicts |
//! | [`sources`] | the hierarchies, by name |
//! | [`load`] | tasks that name nodes, and their false conflicts |

mod cases;
mod changes;
mod counter_tree;
mod experiment;
mod figures;
mod granules;
pub mod load;
mod options;
pub mod sources;
mod testbed;
mod turn;

pub use options::HierarchyOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &HierarchyOptions) -> Result<(), Failure> {
    let options = options.completed();
    experiment::Experiment::new(&options)?.carry_out(&options.common)
}
