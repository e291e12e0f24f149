//! Latency in open loop: options checked and completed, turns and conclusion.

use super::load::{OpenLoop, RequestKind, micros};
use super::options::LatencyOptions;
use super::stage::{Stage, turn_length};
use std::ops::RangeInclusive;
use std::time::Duration;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::Failure;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::Measurement;

/// An experiment whose options have been checked and completed.
pub(super) struct Latency {
    stage: Stage,
    cases: Vec<(RequestKind, u64)>,
    time: Duration,
}

pub(super) const RATES: RangeInclusive<u64> = 1..=100_000_000;
const UNIT: &str = "p99 µs";
const COLUMNS: &[&str] = &["p50", "p99.9", "max"];

impl Latency {
    /// Checks and completes the options.
    pub(super) fn new(options: &LatencyOptions) -> Result<Self, Failure> {
        let time = turn_length(options.time, 1000, &options.stage.common)?;
        for &rate in &options.rate {
            check_range("--rate", rate, &RATES, "requests a second")?;
        }
        let (stage, cases) = Stage::of_requests(&options.stage, &options.requests, &options.rate)?;
        Ok(Self { stage, cases, time })
    }

    fn names(&self) -> Vec<String> {
        self.cases.iter().map(|(kind, rate)| format!("{}, {rate} a second", kind.name())).collect()
    }
}

impl xtasking_harness::experiment::Experiment for Latency {
    const NAME: &'static str = "store open-loop";
    const TITLE: &'static str = "99 of 100 requests are answered within this time (less is better).";
    const HAS_PAGE: bool = false;
    const COLUMNS: &'static [&'static str] = COLUMNS;

    fn describe(&self) -> String {
        let cases = self.names().join("; ");
        format!("store: {cases}; turns of {:?} in open loop\n{}", self.time, self.stage.describe())
    }

    fn outline(&self) -> Outline {
        self.stage.outline(self.time, self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let (cases, stage) = (self.names(), &self.stage);
        let results = stage.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            let (kind, rate) = &self.cases[case];
            let (load, time) = (OpenLoop { kind, rate: *rate }, self.time);
            let (_, latencies) = stage.turn(entry, workers, context, |loaded| {
                load.run(&mut loaded.client, |passed| passed < time / 10)?;
                load.run(&mut loaded.client, |passed| passed < time)
            })?;
            let numbers = [micros(&latencies, 50.0), micros(&latencies, 99.9), micros(&latencies, 100.0)];
            stage.add(&cases[case], entry, workers, COLUMNS.iter().copied().zip(numbers).collect());
            Ok(micros(&latencies, 99.0))
        })?;
        Ok(stage.with_details(results))
    }

    fn notes(&self) -> Vec<String> {
        self.stage.notes()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("percentiles of the time from the moment at which a request was due to its reply: µs, less is \
            better; arrivals are a Poisson process; every reply was checked"
            .to_string())
    }
}
