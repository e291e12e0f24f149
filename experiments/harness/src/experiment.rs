//! The steps of every experiment: describe the run, measure, print the table and write the files.

use crate::common::Common;
use crate::failure::{Failure, print};
use crate::machine::{self, Machine};
use crate::page::Page;
use crate::progress::Progress;
use crate::report::{self, Measurement, Parameters, Report};

/// What a report and the progress line need to know of a run before it starts.
pub struct Outline {
    /// The parameters of the run, for the JSON report.
    pub parameters: Parameters,
    /// The names in the figure's legend, each with its explanation.
    pub legend: Vec<(String, String)>,
    /// The number of progress steps that [`Experiment::measure`] reports.
    pub steps: u64,
}

/// An experiment whose options have been checked and completed.
pub trait Experiment {
    /// The name of the subcommand.
    const NAME: &'static str;

    /// The title of the figure: a sentence that says what it shows, and whether more or less is
    /// better.
    const TITLE: &'static str;

    /// The names of the details of measurements that have a column in the table. They have the unit
    /// of the measurement.
    const COLUMNS: &'static [&'static str] = &[];

    /// Whether this process has the runtimes of which `--http` serves a page.
    const HAS_PAGE: bool = true;

    /// Describes the run that is about to start, for people, in one or more lines.
    fn describe(&self) -> String;

    /// Returns the parameters, the legend and the number of progress steps.
    fn outline(&self) -> Outline;

    /// Runs and checks all measurements.
    ///
    /// # Errors
    ///
    /// If a contender gives a wrong result or cannot be started.
    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure>;

    /// Returns lines to print below the table, for example about skipped measurements.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the text that ends the output, with units and what was checked.
    ///
    /// # Errors
    ///
    /// If it needs a run of its own, and that fails.
    fn conclusion(&self) -> Result<String, Failure>;

    /// Runs the experiment: prints the machine, the description and the table, and writes the
    /// requested files.
    ///
    /// # Errors
    ///
    /// Those of [`measure`](Self::measure); or if a file or the standard output cannot be written,
    /// or threads cannot be started.
    fn carry_out(&self, common: &Common) -> Result<(), Failure> {
        let address = common.http.as_deref().filter(|_| Self::HAS_PAGE);
        let _page = address.map(|address| Page::open(address, Self::NAME)).transpose()?;
        let machine = Machine::detect();
        print(&format_args!("{}\n{}\n\n", machine.describe(), self.describe()))?;
        machine::check_threads(common.worker_counts()?.into_iter().max().unwrap_or(1))?;
        let Outline { parameters, legend, steps } = self.outline();
        let progress = Progress::new(steps, common.verbose);
        let results = self.measure(&progress)?;
        drop(progress);
        let (experiment, title, columns) = (Self::NAME, Self::TITLE, Self::COLUMNS);
        let report = Report { experiment, title, columns, legend, machine, parameters, results };
        print(&format_args!("{}\n", report::table(&report)))?;
        for note in self.notes() {
            print(&format_args!("{note}\n"))?;
        }
        print(&format_args!("{}\n", self.conclusion()?))?;
        report::write(&report, common.json.as_deref(), common.plot.as_deref())
    }
}
