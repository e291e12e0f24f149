//! The experiment on irregular work: trees and sorts, whose parts differ in size by far.
//!
//! Each workload forks down to its smallest parts, by the same code for each library. A result is
//! the wall-clock time, of which the outcome is checked.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `workload` | the workloads, and the check of their outcomes |
//! | `tree` | the nodes of an unbalanced tree |
//! | `fork_join` | what a library offers to forked work |
//! | `forked` | the workloads as joins |
//! | `scopes` | the workloads with a scope for each node |
//! | `plain` | the workloads as plain sequential programs |
//! | `partition` | the division of a slice by a pivot |
//! | `contenders` | the contenders by name |

mod contenders;
mod experiment;
mod fork_join;
mod forked;
mod options;
mod partition;
mod plain;
mod scopes;
mod tree;
mod workload;

pub use options::IrregularOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &IrregularOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
