//! The experiment `grow`: a tree that grows from its root to many nodes, one insert at a time, and
//! how many pairs of its sub-trees exclude each other.
//!
//! Tasks on two sub-trees need to exclude each other only if one is below the other. So the share
//! of other pairs that do is concurrency that was lost while the tree grew.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns, notes and conclusion |
//! | `growth` | the nodes so far, their parents, and the clients that insert |
//! | `encounter` | whether two tasks exclude each other, seen from outside |
//! | `contender` | what a contender does |
//! | `contenders` | the contenders, a file for each |

mod contender;
mod contenders;
mod encounter;
mod experiment;
mod growth;
mod options;

pub use options::GrowOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &GrowOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
