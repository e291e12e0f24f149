//! The experiment `files`: a file system in memory, whose files are read and written, whose
//! sub-trees are summed up and added to, and whose directories move.
//!
//! It is the program that a user of sub-tree claims would write, beside what its author would
//! otherwise use: one lock, locks of nodes, a concurrent map of paths, actors, transactional
//! memory. Operations name their node by its path from the root, or by a handle.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns, notes and conclusion |
//! | `cases` | the mixes of operations, and the cases |
//! | `layout` | the initial tree, its names and numbers, and where each directory is |
//! | `operation` | operations and their answers |
//! | `client` | a client: draws operations, and checks their answers |
//! | `body` | the computation of an operation, on threads or in virtual time |
//! | `contents` | all of a file system, compared with what the clients did |
//! | `contender` | what a contender does |
//! | `contenders` | the contenders, a file for each |
//! | `turn` | one turn of a contender, and its checks |

mod body;
mod cases;
mod client;
mod contender;
mod contenders;
mod contents;
mod experiment;
mod layout;
mod operation;
mod options;
mod turn;

pub use options::FilesOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &FilesOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
