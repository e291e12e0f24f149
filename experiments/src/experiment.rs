//! What every experiment does: it says what it is about to do, does it, and hands over what it found.

use crate::cli::Common;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters, Report};

/// Who takes turns with how many workers, and how often, in a line for people.
pub fn turns(noun: &str, names: &[&str], worker_counts: &[usize], repetitions: usize) -> String {
    let workers = worker_counts.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let times = if repetitions == 1 { "repetition" } else { "repetitions" };
    format!("{noun} {} · workers {workers} · {repetitions} {times}", names.join(", "))
}

/// An experiment whose options have been checked and completed.
pub trait Experiment {
    /// The name of the subcommand.
    const NAME: &'static str;

    /// What is about to be done, for people: a line or some.
    fn describe(&self) -> String;

    /// What was asked for, for programs.
    fn parameters(&self) -> Parameters;

    /// How many steps of progress there are.
    fn steps(&self) -> u64;

    /// Measures everything; a wrong result is a failure.
    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure>;

    /// What the table leaves out, a line each.
    fn notes(&self) -> Vec<String>;

    /// What is said below the table and its notes.
    fn conclusion(&self) -> Result<String, Failure>;

    /// Prints the machine, the parameters and the table, and writes what was asked for.
    fn carry_out(&self, common: &Common) -> Result<(), Failure> {
        let machine = Machine::detect();
        println!("{}\n{}\n", machine.describe(), self.describe());
        let progress = Progress::new(self.steps(), common.verbose);
        let results = self.measure(&progress)?;
        drop(progress);
        let report = Report { experiment: Self::NAME, machine, parameters: self.parameters(), results };
        println!("{}", report.table());
        for note in self.notes() {
            println!("{note}");
        }
        println!("{}", self.conclusion()?);
        report.write(common.json.as_deref(), common.plot.as_deref())
    }
}
