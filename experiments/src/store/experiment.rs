//! Requests a second in closed loop: options checked and completed, turns and conclusion.

use super::StoreOptions;
use super::load::RequestKind;
use super::programs::Entry;
use super::stage::{Loaded, Stage, turn_length};
use crate::cpu_time::cpu_time;
use std::ops::RangeInclusive;
use std::time::Duration;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::Measurement;

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    stage: Stage,
    cases: Vec<(RequestKind, u32)>,
    time: Duration,
}

const PIPELINES: RangeInclusive<u32> = 1..=10_000;
const UNIT: &str = "thousand/s";
/// The details that have a column.
const PER_CPU: &str = "per CPU-second";
const OF_CLIENT: &str = "per CPU-second of the client";

/// What was measured in one turn, in requests a second.
struct Rates {
    by_clock: f64,
    by_cpu: Option<f64>,
    by_client: Option<f64>,
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &StoreOptions) -> Result<Self, Failure> {
        let time = turn_length(options.time, 200, &options.stage.common)?;
        for &pipeline in &options.pipeline {
            check_range("--pipeline", pipeline, &PIPELINES, "requests")?;
        }
        let (stage, cases) = Stage::of_requests(&options.stage, &options.requests, &options.pipeline)?;
        Ok(Self { stage, cases, time })
    }

    fn names(&self) -> Vec<String> {
        self.cases.iter().map(|(kind, pipeline)| format!("{}, {pipeline} at once", kind.name())).collect()
    }

    fn turn(&self, entry: &Entry, workers: usize, case: usize, context: &str) -> Result<Rates, Failure> {
        let ((kind, pipeline), time) = (&self.cases[case], self.time);
        self.stage.turn(entry, workers, context, |loaded| rates(loaded, kind, *pipeline as usize, time))
    }
}

/// Measures a loaded server.
fn rates(loaded: &mut Loaded, kind: &RequestKind, pipeline: usize, time: Duration) -> Result<Rates, Wrong> {
    let Loaded { server, client, .. } = loaded;
    // Warms up.
    client.closed_loop(kind, pipeline, time / 10)?;
    let before = (server.cpu_time(), cpu_time());
    let work = client.closed_loop(kind, pipeline, time)?;
    let after = (server.cpu_time(), cpu_time());
    let requests = work.requests as f64;
    let by_cpu = after.0.zip(before.0).map(|(after, before)| requests / (after - before));
    let by_client = after.1.zip(before.1).map(|(after, before)| requests / (after - before).as_secs_f64());
    Ok(Rates { by_clock: requests / work.time.as_secs_f64(), by_cpu, by_client })
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "store";
    const TITLE: &'static str = "A store answers this many requests a second (more is better).";
    const HAS_PAGE: bool = false;
    const COLUMNS: &'static [&'static str] = &[PER_CPU, OF_CLIENT];

    fn describe(&self) -> String {
        format!(
            "store: {}; turns of {:?} in closed loop\n{}",
            self.names().join("; "),
            self.time,
            self.stage.describe()
        )
    }

    fn outline(&self) -> Outline {
        self.stage.outline(self.time, self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let cases = self.names();
        let stage = &self.stage;
        let results = stage.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            let rates = self.turn(entry, workers, case, context)?;
            let details = [(PER_CPU, rates.by_cpu), (OF_CLIENT, rates.by_client)];
            let known = details.into_iter().filter_map(|(name, rate)| Some((name, rate? / 1e3)));
            stage.add(&cases[case], entry, workers, known.collect());
            Ok(rates.by_clock / 1e3)
        })?;
        Ok(stage.with_details(results))
    }

    fn notes(&self) -> Vec<String> {
        self.stage.notes()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousand/s: requests answered, by the clock and for each second of CPU time of the server and of \
            the client, more is better; every reply was checked"
            .to_string())
    }
}
