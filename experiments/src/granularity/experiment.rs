//! The options, checked and completed, and what one turn is.

use super::Options;
use super::contenders::{self, Aggregator, Entry};
use super::records::{Record, Records, least, make};
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::machine::available_memory;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

/// An experiment that can be run.
pub(super) struct Experiment {
    size: usize,
    records: usize,
    grains: Vec<usize>,
    lineup: Lineup<Aggregator>,
    seed: u64,
    /// How flat what was measured is, a line each.
    flatness: RefCell<Vec<String>>,
}

const MEBIBYTE: usize = 1 << 20;
/// A tebibyte.
const GREATEST: usize = 1 << 20;

/// The grains of a default run, as far as there are records.
const GRAINS: [usize; 7] = [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// Among these all is to be flat.
const FLAT: std::ops::RangeInclusive<usize> = 1_000..=1_000_000;
/// And this is the grain at which it may begin to fall.
const SMALL: usize = 100;

/// Threads start, caches and heaps are touched: by so many records, before anything is measured.
const WARMING: usize = 100_000;

const UNIT: &str = "Mrecords/s";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        let size = options.size.unwrap_or(if common.quick { 32 } else { 640 });
        if !(1..=GREATEST).contains(&size) {
            return Err(Failure::Usage(format!("--size is {size}; choose 1 to {GREATEST} MiB")));
        }
        if available_memory().is_some_and(|available| size as u64 > available / MEBIBYTE as u64) {
            return Err(Failure::Usage(format!("--size: there is no memory for {size} MiB")));
        }
        let records = size * MEBIBYTE / size_of::<Record>();
        let grains: Vec<_> = match &options.grains {
            None => GRAINS.into_iter().filter(|&grain| grain <= records).collect(),
            Some(grains) => grains.iter().map(|&grain| grain as usize).collect(),
        };
        if let Some(grain) = grains.iter().find(|&&grain| grain == 0 || grain > records) {
            let text = format!("--grains: {grain} does not do; choose 1 to {records}, which is all records");
            return Err(Failure::Usage(text));
        }
        let lineup = Lineup::new(contenders::ALL, &[], common)?;
        Ok(Self { size, records, grains, lineup, seed: common.seed, flatness: RefCell::default() })
    }

    /// One turn: millions of records a second.
    fn once(
        &self,
        (records, expected): (Records, u64),
        grain: usize,
        entry: &Entry,
        workers: usize,
        context: &str,
    ) -> Result<f64, Failure> {
        let aggregate = (entry.start)(workers)?;
        aggregate(&records[..records.len().min(WARMING)], grain);
        // Idle workers sleep, as they would where nobody has spawned for a while.
        thread::sleep(Duration::from_millis(2));
        let began = Instant::now();
        let found = aggregate(records, grain);
        let time = began.elapsed();
        if found != expected {
            let wrong = Wrong::new(format!("the least value: {found} instead of {expected}"));
            return Err(Failure::Wrong { context: context.to_string(), wrong });
        }
        Ok(records.len() as f64 / time.as_secs_f64() / 1e6)
    }

    /// How flat the results of an implementation with some workers are; `None` if there is nothing to compare.
    fn flatness(&self, results: &[Measurement], name: &str, workers: usize) -> Option<String> {
        let of = |result: &&Measurement| result.implementation == name && result.workers == workers;
        // In the order of the cases, which is that of the grains.
        let rates = results.iter().filter(of).map(|result| result.summary.median);
        let rates: Vec<_> = self.grains.iter().copied().zip(rates).collect();
        let flat = || rates.iter().filter(|(grain, _)| FLAT.contains(grain)).map(|(_, rate)| *rate);
        let (least, most) = (flat().reduce(f64::min)?, flat().reduce(f64::max)?);
        let noun = if workers == 1 { "worker" } else { "workers" };
        let mut line = format!(
            "{name} with {workers} {noun}: the slowest from {} to {} records a task has {:.0}% of the fastest",
            FLAT.start(),
            FLAT.end(),
            100.0 * least / most
        );
        if let Some((_, small)) = rates.iter().find(|(grain, _)| *grain == SMALL) {
            line += &format!("; {SMALL} have {:.0}%", 100.0 * small / most);
        }
        Some(line)
    }
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "granularity";

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

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("size_mib", self.size);
        parameters.add("records", self.records);
        parameters.add("grains", self.grains.clone());
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        parameters
    }

    fn steps(&self) -> u64 {
        self.lineup.steps(self.grains.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("making the records".to_string());
        let records = make(self.records, self.seed);
        let known = (records, least(records));
        let cases: Vec<_> = self.grains.iter().map(|grain| format!("{grain} a task")).collect();
        let once = |case: usize, entry: &Entry, workers, context: &str| {
            self.once(known, self.grains[case], entry, workers, context)
        };
        let results = self.lineup.measure(progress, UNIT, &cases, once)?;
        let mut seen: Vec<(&str, usize)> = Vec::new();
        for result in &results {
            let who = (result.implementation.as_str(), result.workers);
            if !seen.contains(&who) {
                seen.push(who);
                self.flatness.borrow_mut().extend(self.flatness(&results, who.0, who.1));
            }
        }
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        self.flatness.take()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("millions of records a second, of the clock on the wall: more is better; every result was compared with that of a \
            plain loop"
            .to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Common;

    #[test]
    fn flatness_is_that_of_the_large_ones() {
        let common = Common {
            workers: Some(vec![2]),
            repetitions: None,
            seed: 1,
            against: None,
            quick: true,
            verbose: false,
            json: None,
            plot: None,
        };
        let options = Options { size: Some(1), grains: Some(vec![100, 1_000, 10_000, 5]), common };
        let experiment = Experiment::new(&options).unwrap();
        let result =
            |(case, rate): (usize, f64)| Measurement::new(case.to_string(), "it", 2, UNIT, vec![rate]);
        let results: Vec<_> = [50.0, 80.0, 100.0, 1.0].into_iter().enumerate().map(result).collect();
        let line = experiment.flatness(&results, "it", 2).unwrap();
        assert_eq!(
            line,
            "it with 2 workers: the slowest from 1000 to 1000000 records a task has 80% of the fastest; 100 have 50%"
        );
        assert_eq!(experiment.flatness(&results, "it", 1), None);
    }
}
