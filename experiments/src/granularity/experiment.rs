//! The experiment: options checked and completed, turns, notes and conclusion.

use super::GranularityOptions;
use super::contenders::{self, Aggregator, Entry};
use super::records::{Record, Records, least, make};
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Instant;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::machine::available_memory;
use xtasking_harness::plural::counted;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    size: usize,
    records: usize,
    grains: Vec<usize>,
    lineup: Lineup<Aggregator>,
    seed: u64,
    /// A line about the flatness of each implementation's results.
    flatness: RefCell<Vec<String>>,
}

const MEBIBYTE: usize = 1 << 20;
/// The sizes of all records in MiB; the largest is a tebibyte.
const SIZES: RangeInclusive<usize> = 1..=1 << 20;

/// The default task sizes, up to the number of records.
const GRAINS: [usize; 7] = [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// The task sizes at which the overhead of tasks should be negligible.
const FLAT_GRAINS: RangeInclusive<usize> = 1_000..=1_000_000;
/// A task size at which the overhead begins to show.
const SMALL_GRAIN: usize = 100;

/// Records that each contender aggregates before the measurement, to warm up threads, caches and
/// heaps.
const WARM_UP_RECORDS: usize = 100_000;

const UNIT: &str = "Mrecords/s";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &GranularityOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let size = options.size.unwrap_or(if common.quick { 32 } else { 640 });
        check_range("--size", size, &SIZES, "MiB")?;
        let available = available_memory().map_or(u64::MAX, |available| available / MEBIBYTE as u64);
        if size as u64 > available {
            return Err(Failure::Usage(format!(
                "--size is {size} MiB, but only {available} MiB of memory are available; choose less"
            )));
        }
        let records = size * MEBIBYTE / size_of::<Record>();
        let grains: Vec<_> = match &options.grains {
            None => GRAINS.into_iter().filter(|&grain| grain <= records).collect(),
            Some(grains) => grains.iter().map(|&grain| grain as usize).collect(),
        };
        if let Some(grain) = grains.iter().find(|&&grain| grain == 0 || grain > records) {
            let text =
                format!("--grains: {grain} is not possible; choose 1 to {records}, the number of records");
            return Err(Failure::Usage(text));
        }
        let lineup = Lineup::new(contenders::ALL, &[], common)?;
        Ok(Self { size, records, grains, lineup, seed: common.seed, flatness: RefCell::default() })
    }

    /// Runs one turn, and returns millions of records per second.
    fn once(
        &self,
        (records, expected): (Records, u64),
        grain: usize,
        entry: &Entry,
        workers: usize,
        context: &str,
    ) -> Result<f64, Failure> {
        let aggregate = (entry.start)(workers)?;
        aggregate(&records[..records.len().min(WARM_UP_RECORDS)], grain);
        settle();
        let began = Instant::now();
        let found = aggregate(records, grain);
        let time = began.elapsed();
        if found != expected {
            let wrong = Wrong::new(format!("the minimum is {found} instead of {expected}"));
            return Err(Failure::Wrong { context: context.to_string(), wrong });
        }
        Ok(records.len() as f64 / time.as_secs_f64() / 1e6)
    }

    /// Describes how flat the results of an implementation are over task sizes; `None` if it has
    /// none to compare.
    fn flatness(&self, results: &[Measurement], name: &str, workers: usize) -> Option<String> {
        let of = |result: &&Measurement| result.implementation == name && result.workers == workers;
        // Results are in the order of the cases, which is that of the grains.
        let rates = results.iter().filter(of).map(|result| result.summary.median);
        let rates: Vec<_> = self.grains.iter().copied().zip(rates).collect();
        let flat = || rates.iter().filter(|(grain, _)| FLAT_GRAINS.contains(grain)).map(|(_, rate)| *rate);
        let (min, max) = (flat().reduce(f64::min)?, flat().reduce(f64::max)?);
        let mut line = format!(
            "{name} with {}: throughput at {} to {} records a task is at least {:.0}% of its maximum there",
            counted(workers, "worker"),
            FLAT_GRAINS.start(),
            FLAT_GRAINS.end(),
            100.0 * min / max
        );
        if let Some((_, small)) = rates.iter().find(|(grain, _)| *grain == SMALL_GRAIN) {
            line += &format!("; at {SMALL_GRAIN} it is {:.0}%", 100.0 * small / max);
        }
        Some(line)
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "granularity";
    const TITLE: &'static str =
        "Each runtime aggregates this many records per second with tasks of each size: more is better.";

    fn describe(&self) -> String {
        let grains = self.grains.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        format!(
            "granularity: {} records in {} MiB · {grains} a task · seed {}\n{}",
            self.records,
            self.size,
            self.seed,
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("size_mib", self.size);
        parameters.add("records", self.records);
        parameters.add("grains", self.grains.clone());
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        self.lineup.outline(parameters, self.grains.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("generating the records".to_string());
        let records = make(self.records, self.seed);
        let input = (records, least(records));
        let cases: Vec<_> = self.grains.iter().map(|grain| format!("{grain} a task")).collect();
        let once = |case: usize, entry: &Entry, workers, context: &str| {
            self.once(input, self.grains[case], entry, workers, context)
        };
        let results = self.lineup.measure(progress, UNIT, &cases, once)?;
        let mut described: Vec<(&str, usize)> = Vec::new();
        for result in &results {
            let group = (result.implementation.as_str(), result.workers);
            if !described.contains(&group) {
                described.push(group);
                self.flatness.borrow_mut().extend(self.flatness(&results, group.0, group.1));
            }
        }
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        self.flatness.take()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("Mrecords/s: millions of records per wall-clock second, more is better; every result was compared \
        with that of a sequential loop"
        .to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_harness::common::Common;

    #[test]
    fn flatness_compares_the_larger_task_sizes() {
        let common = Common {
            workers: Some(vec![2]),
            repetitions: None,
            seed: 1,
            against: None,
            quick: true,
            verbose: false,
            json: None,
            plot: None,
            http: None,
        };
        let options = GranularityOptions { size: Some(1), grains: Some(vec![100, 1_000, 10_000, 5]), common };
        let experiment = Experiment::new(&options).unwrap();
        let result =
            |(case, rate): (usize, f64)| Measurement::new(case.to_string(), "it", 2, UNIT, vec![rate]);
        let results: Vec<_> = [50.0, 80.0, 100.0, 1.0].into_iter().enumerate().map(result).collect();
        let line = experiment.flatness(&results, "it", 2).unwrap();
        assert_eq!(
            line,
            "it with 2 workers: throughput at 1000 to 1000000 records a task is at least 80% of its \
            maximum there; at 100 it is 50%"
        );
        assert_eq!(experiment.flatness(&results, "it", 1), None);
    }
}
