//! The YCSB experiment: the standard key-value workloads on ordered indexes, from u64 to u64.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work |
//! | `runner` | the order in which things are built, loaded, run and verified |
//! | [`workload`] | what YCSB's workloads and property files ask for |
//! | [`distribution`] | how the records of requests are chosen |
//! | [`keyspace`] | keys of records, and values that tell what they are |
//! | [`plan`] | the requests of a run, made before the clock starts, and the checks of their results |

pub mod distribution;
mod experiment;
pub mod keyspace;
mod options;
pub mod plan;
mod runner;
#[cfg(test)]
mod tests;
pub mod workload;

pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
