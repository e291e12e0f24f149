//! The YCSB experiment: the standard key-value workloads on ordered indexes that map `u64` to
//! `u64`.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed; description, parameters and notes |
//! | `schedule` | the order in which contenders are built, loaded, run and verified |
//! | [`lineup`] | the contenders by name |
//! | [`contender`] | the interface of an index that the experiment measures |
//! | [`settings`] | the settings of contenders |
//! | `runtime` | the contender of this project: the B-link tree |
//! | [`workload`] | YCSB's workloads and property files |
//! | [`distribution`] | the distributions that choose records |
//! | [`keyspace`] | keys of records, and values that identify their writes |
//! | [`plan`] | the requests of a run, generated before it starts, and the checks of results |

pub mod contender;
pub mod distribution;
mod experiment;
pub mod keyspace;
pub mod lineup;
mod options;
pub mod plan;
mod runtime;
mod schedule;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod workload;

pub use options::YcsbOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &YcsbOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
