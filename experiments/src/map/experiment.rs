//! The experiment: options checked and completed, turns and conclusion.

use super::MapOptions;
use super::contender::{Contender, Entry, Lineup, Settings};
use super::contenders;
use super::workload::{Lookups, Workload};
use crate::memory::{check_available, tidy_up};
use std::ops::RangeInclusive;
use std::time::Duration;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Turns, settle};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    records: usize,
    lookups: usize,
    /// The shares of misses, in percent: a case for each.
    misses: Vec<u64>,
    ahead: usize,
    seed: u64,
    lineup: Lineup,
}

/// The numbers of records and lookups that are possible.
const COUNTS: RangeInclusive<u64> = 1..=10_000_000_000;
/// Keys ahead of the current one. A processor fetches no more lines at once.
const AHEAD: RangeInclusive<usize> = 1..=256;
/// Bytes that a record takes at most: in the largest map, and its key.
const RECORD_BYTES: u64 = 140;
/// Bytes that a lookup takes: its key and its number, and what two copies of its result take.
const LOOKUP_BYTES: u64 = 48;

const UNIT: &str = "M/s";

/// Returns millions of operations a second.
fn rate(operations: usize, time: Duration) -> f64 {
    operations as f64 / time.as_secs_f64() / 1e6
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &MapOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let default = |quick, full| if common.quick { quick } else { full };
        let records = options.records.unwrap_or_else(|| default(200_000, 2_000_000));
        let lookups = options.lookups.unwrap_or_else(|| default(400_000, 4_000_000));
        check_range("--records", records, &COUNTS, "")?;
        check_range("--lookups", lookups, &COUNTS, "")?;
        check_range("--misses", options.misses, &(0..=100), "percent")?;
        check_range("--ahead", options.ahead, &AHEAD, "")?;
        check_available("--records and --lookups", records * RECORD_BYTES + lookups * LOOKUP_BYTES)?;
        let mut misses = vec![0, options.misses];
        misses.dedup();
        Ok(Self {
            records: records as usize,
            lookups: lookups as usize,
            misses,
            ahead: options.ahead,
            seed: common.seed,
            lineup: Lineup::new(contenders::ALL, &[], common)?,
        })
    }

    /// Returns the names of the cases: inserts, and then lookups with each share of misses.
    fn cases(&self) -> Vec<String> {
        let name = |percent: &u64| match percent {
            0 => "look up, all hits".to_string(),
            percent => format!("look up, {percent}% misses"),
        };
        ["insert".to_string()].into_iter().chain(self.misses.iter().map(name)).collect()
    }

    /// Runs the turns of one contender in one repetition: they share a map.
    fn turns_of(
        &self,
        turns: &mut Turns<'_>,
        (entry, workers): (&Entry, usize),
        workload: &Workload,
        found: &mut Vec<Option<u64>>,
    ) -> Result<(), Failure> {
        let mut contender = (entry.start)(Settings { workers, ahead: self.ahead })?;
        turns.turn(0, entry, workers, |context| {
            let loaded = load(&mut *contender, workload);
            loaded.map(Some).map_err(|wrong| Failure::Wrong { context: context.to_string(), wrong })
        })?;
        for (number, lookups) in workload.lookups.iter().enumerate() {
            turns.turn(1 + number, entry, workers, |context| {
                let looked_up = look_up(&mut *contender, lookups, found);
                looked_up.map(Some).map_err(|wrong| Failure::Wrong { context: context.to_string(), wrong })
            })?;
        }
        Ok(())
    }
}

/// Loads a map, and returns millions of inserts a second.
fn load(contender: &mut dyn Contender, workload: &Workload) -> Result<f64, Wrong> {
    settle();
    tidy_up();
    let (time, new) = contender.load(&workload.keys)?;
    workload.check_new(new)?;
    Ok(rate(workload.keys.len(), time))
}

/// Looks up keys, and returns millions of lookups a second.
fn look_up(
    contender: &mut dyn Contender,
    lookups: &Lookups,
    found: &mut Vec<Option<u64>>,
) -> Result<f64, Wrong> {
    // All its pages are touched before the measurement, and no result is that of an earlier turn.
    found.clear();
    found.resize(lookups.keys.len(), None);
    settle();
    let time = contender.look_up(&lookups.keys, found)?;
    lookups.check(found)?;
    Ok(rate(lookups.keys.len(), time))
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "map";
    const TITLE: &'static str =
        "Each hash map does this many millions of operations a second: more is better.";

    fn describe(&self) -> String {
        format!(
            "map: {} records · {} lookups a turn · {} keys prefetched by hand · seed {}\n{}",
            self.records,
            self.lookups,
            self.ahead,
            self.seed,
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("records", self.records);
        parameters.add("lookups", self.lookups);
        parameters.add("misses_percent", self.misses.clone());
        parameters.add("ahead", self.ahead);
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        self.lineup.outline(parameters, self.cases().len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        progress.begin("generating the keys".to_string());
        let workload = Workload::new(self.records, self.lookups, &self.misses, self.seed);
        let (cases, mut found) = (self.cases(), Vec::new());
        let mut turns = self.lineup.turns(progress, UNIT, &cases);
        for _ in 0..self.lineup.repetitions() {
            for &workers in self.lineup.worker_counts() {
                for &entry in &self.lineup.contenders {
                    self.turns_of(&mut turns, (entry, workers), &workload, &mut found)?;
                }
            }
        }
        Ok(turns.measurements())
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("M/s: millions of operations per wall-clock second, more is better; inserting includes making the \
            map; every result was checked"
            .to_string())
    }
}
