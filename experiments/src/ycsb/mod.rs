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

use crate::failure::Failure;
use crate::machine::Machine;
use crate::progress::Progress;
use crate::report::Report;
use experiment::Experiment;

/// Runs the experiment: prints the machine, the parameters and the table, and writes what was asked for.
pub fn run(options: &Options) -> Result<(), Failure> {
    let experiment = Experiment::new(options)?;
    let machine = Machine::detect();
    println!("{}\n{}\n", machine.describe(), experiment.describe());
    let progress = Progress::new(runner::steps(&experiment), options.common.verbose);
    let results = runner::run(&experiment, &progress)?;
    drop(progress);
    let report = Report { experiment: "ycsb", machine, parameters: experiment.parameters(), results };
    println!("{}", report.table());
    for note in experiment.notes() {
        println!("{note}");
    }
    println!("every result was checked (seed {})", experiment.seed);
    report.write(options.common.json.as_deref(), options.common.plot.as_deref())
}
