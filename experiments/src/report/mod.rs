//! What an experiment has found, and the forms in which it is handed over.
//!
//! | file | what it holds |
//! |---|---|
//! | `summary` | median, least and greatest of the repetitions |
//! | `table` | for people |
//! | `json` | for programs |
//! | `plot` | for papers and pages |
//! | `file` | writing a file whole or not at all |

pub mod file;
mod json;
mod plot;
mod summary;
mod table;

pub use summary::Summary;

use crate::failure::Failure;
use crate::machine::Machine;
use serde::Serialize;
use std::path::Path;

/// Everything that an experiment has found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name of the experiment, which is that of the subcommand.
    pub experiment: &'static str,
    /// What it was measured on.
    pub machine: Machine,
    /// What was asked for.
    pub parameters: Parameters,
    /// What was measured; the first implementation of a case is what the others are compared with.
    pub results: Vec<Measurement>,
}

/// What was asked for, by name, in the order in which it is shown.
#[derive(Clone, Debug, Default)]
pub struct Parameters(Vec<(&'static str, serde_json::Value)>);

impl Parameters {
    /// Adds one.
    pub fn add(&mut self, name: &'static str, value: impl Into<serde_json::Value>) {
        self.0.push((name, value.into()));
    }
}

/// All repetitions of one case by one implementation.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// What was done, such as a workload.
    pub case: String,
    /// Who did it.
    pub implementation: String,
    /// With how many workers.
    pub workers: usize,
    /// What the numbers count.
    pub unit: &'static str,
    /// The numbers.
    #[serde(flatten)]
    pub summary: Summary,
    /// Whether all results were checked; a wrong one ends the experiment without a report.
    pub checked: bool,
    /// What else was found, by name.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::as_map")]
    pub details: Vec<(&'static str, f64)>,
    /// How many nanoseconds each worker was busy, if that was seen.
    #[serde(rename = "busy_ns", skip_serializing_if = "Vec::is_empty")]
    pub busy: Vec<u64>,
}

impl Measurement {
    /// One with nothing but its numbers, of which there must be one at least; all results were checked.
    pub fn new(
        case: impl Into<String>,
        implementation: impl Into<String>,
        workers: usize,
        unit: &'static str,
        numbers: Vec<f64>,
    ) -> Self {
        Self {
            case: case.into(),
            implementation: implementation.into(),
            workers,
            unit,
            summary: Summary::of(numbers),
            checked: true,
            details: Vec::new(),
            busy: Vec::new(),
        }
    }
}

impl Report {
    /// The table for people.
    pub fn table(&self) -> String {
        table::render(self)
    }

    /// The JSON object.
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// The drawing, as SVG.
    pub fn plot(&self) -> Result<String, Failure> {
        plot::render(self).map_err(|error| Failure::Output(format!("cannot draw the plot: {error}")))
    }

    /// Writes what was asked for.
    pub fn write(&self, json: Option<&Path>, plot: Option<&Path>) -> Result<(), Failure> {
        if let Some(path) = json {
            file::write(path, self.json().as_bytes())?;
        }
        if let Some(path) = plot {
            file::write(path, self.plot()?.as_bytes())?;
        }
        Ok(())
    }

    /// How one measurement compares with the first implementation of the same case, workers and unit.
    fn ratio(&self, measurement: &Measurement) -> Option<f64> {
        let same = |other: &&Measurement| {
            (&other.case, other.workers, other.unit)
                == (&measurement.case, measurement.workers, measurement.unit)
        };
        let first = self.results.first()?;
        let base =
            self.results.iter().filter(same).find(|other| other.implementation == first.implementation)?;
        (base.summary.median > 0.0).then(|| measurement.summary.median / base.summary.median)
    }
}
