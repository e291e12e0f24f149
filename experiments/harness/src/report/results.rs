//! The results of an experiment, with the machine and the parameters.

use super::summary::Summary;
use crate::machine::Machine;
use serde::{Serialize, Serializer};

/// The results of an experiment, and how they were obtained.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name of the experiment's subcommand.
    pub experiment: &'static str,
    /// The title of the figure: a sentence.
    #[serde(skip)]
    pub title: &'static str,
    /// The names of details that have a column in the table.
    #[serde(skip)]
    pub columns: &'static [&'static str],
    /// The implementations' names, each with a one-line explanation.
    #[serde(skip)]
    pub legend: Vec<(String, String)>,
    /// The machine that the results were measured on.
    pub machine: Machine,
    /// The parameters of the run.
    pub parameters: Parameters,
    /// The measurements. Ratios are relative to the implementation of the first one.
    pub results: Vec<Measurement>,
}

/// The parameters of a run by name, in the order in which they are written.
#[derive(Clone, Debug, Default)]
pub struct Parameters(Vec<(&'static str, serde_json::Value)>);

impl Parameters {
    /// Adds a parameter.
    pub fn add(&mut self, name: &'static str, value: impl Into<serde_json::Value>) {
        self.0.push((name, value.into()));
    }
}

/// All repetitions of one case on one implementation.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The case, such as a workload.
    pub case: String,
    /// The name of the implementation.
    pub implementation: String,
    /// The number of workers.
    pub workers: usize,
    /// The unit of the numbers.
    pub unit: &'static str,
    /// Median, minimum and maximum of the repetitions.
    #[serde(flatten)]
    pub summary: Summary,
    /// Whether all results were checked. A wrong result ends the experiment without a report.
    pub checked: bool,
    /// Further numbers by name.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub details: Vec<(&'static str, f64)>,
    /// Nanoseconds that each worker was busy; empty if this was not measured.
    #[serde(rename = "busy_ns", skip_serializing_if = "Vec::is_empty")]
    pub busy: Vec<u64>,
}

impl Measurement {
    /// Creates a measurement without details from the numbers of its repetitions, all of them
    /// checked.
    ///
    /// # Panics
    ///
    /// If `numbers` is empty.
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
    /// Returns the ratio of a measurement to that of the first implementation, for the same case,
    /// workers and unit.
    pub(super) fn ratio(&self, measurement: &Measurement) -> Option<f64> {
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

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Serializes pairs as a map.
fn as_map<S: Serializer>(pairs: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}
