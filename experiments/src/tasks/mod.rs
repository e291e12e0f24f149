//! The tasks experiment: what the runtime itself costs, beside its peers.
//!
//! A number is the time from the first spawn to the last task, divided by the number of tasks; with several workers it is
//! the time of the clock on the wall all the same, so that it falls where workers help each other. The tasks do next to
//! nothing, but every one leaves a trace, and the traces are counted.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work |
//! | `cases` | what is measured, by whom |
//! | `stage` | the runtimes that take turns |
//! | `runner` | the turns |
//! | `tally` | the traces of tasks |
//! | `own` | the cases on this runtime |
//! | `peers` | the cases on those of others, and on bare atomics |

mod cases;
mod experiment;
mod options;
mod own;
mod peers;
mod runner;
mod stage;
mod tally;

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
    let report = Report { experiment: "tasks", machine, parameters: experiment.parameters(), results };
    println!("{}", report.table());
    for note in experiment.notes() {
        println!("{note}");
    }
    println!("{}", runner::descriptors(&experiment)?);
    println!("nanoseconds: less is better; all tasks were counted, all objects checked");
    report.write(options.common.json.as_deref(), options.common.plot.as_deref())
}
