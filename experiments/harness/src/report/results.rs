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
    /// The time of the same work in a plain sequential program, without tasks, divided by the time
    /// of this measurement; `None` if that was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
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
            speed_up: None,
            checked: true,
            details: Vec::new(),
            busy: Vec::new(),
        }
    }
}

/// Sets the speed-ups of measured times, relative to the implementation `plain` with one worker in
/// the same case. A case that `plain` did not run gets none.
pub fn set_speed_ups(results: &mut [Measurement], plain: &str) {
    let is_plain = |result: &&Measurement| result.implementation == plain && result.workers == 1;
    let times: Vec<_> = results.iter().filter(is_plain).map(|r| (r.case.clone(), r.summary.median)).collect();
    for result in results {
        let time = times.iter().find(|(case, _)| *case == result.case);
        result.speed_up = time.map(|(_, time)| time / result.summary.median);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_ups_are_relative_to_one_plain_worker_in_the_same_case() {
        let of =
            |case: &str, name: &str, workers, time| Measurement::new(case, name, workers, "ms", vec![time]);
        let mut results = [
            of("a", "own", 1, 10.0),
            of("a", "plain", 1, 8.0),
            of("a", "own", 2, 4.0),
            of("b", "own", 1, 3.0),
            of("b", "plain", 2, 3.0),
        ];
        set_speed_ups(&mut results, "plain");
        let speed_ups = results.map(|result| result.speed_up);
        assert_eq!(speed_ups, [Some(0.8), Some(1.0), Some(2.0), None, None]);
    }
}
