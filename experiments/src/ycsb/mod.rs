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
//! | `bundles` | the same tree, called with bundles |
//!
//! The crate [`xtasking_ycsb`] has the workloads, the requests of a run, and the checks of results.

mod bundles;
pub mod contender;
mod experiment;
pub mod lineup;
mod options;
mod runtime;
mod schedule;
pub mod settings;
#[cfg(test)]
mod tests;

pub use options::YcsbOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &YcsbOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
