//! The experiment: options checked and completed, turns, notes and conclusion.

use super::GrowOptions;
use super::contender::{Entry, Lineup};
use super::contenders;
use super::growth::Growth;
use crate::memory::tidy_up;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::settle;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    nodes: u32,
    pairs: usize,
    lineup: Lineup,
    seed: u64,
    /// The percentage of pairs that exclude each other, by implementation and workers.
    exclusive: RefCell<BTreeMap<(&'static str, usize), f64>>,
}

const NODES: RangeInclusive<u64> = 1..=100_000_000;
const PAIRS: RangeInclusive<u64> = 0..=100_000_000;

const UNIT: &str = "kinserts/s";
const EXCLUSIVE: &str = "exclusive_pairs_percent";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &GrowOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let default = |quick, full| if common.quick { quick } else { full };
        let nodes = options.nodes.unwrap_or(default(10_000, 1_000_000));
        let pairs = options.pairs.unwrap_or(default(200, 10_000));
        check_range("--nodes", nodes, &NODES, "")?;
        check_range("--pairs", pairs, &PAIRS, "")?;
        Ok(Self {
            nodes: nodes as u32,
            pairs: pairs as usize,
            lineup: Lineup::new(contenders::ALL, &[], common)?,
            seed: common.seed,
            exclusive: RefCell::default(),
        })
    }

    /// Grows a tree, and returns thousands of inserts a second.
    fn once(&self, entry: &Entry, workers: usize) -> Result<Result<f64, Wrong>, Failure> {
        let mut contender = (entry.start)(workers)?;
        let growth = Arc::new(Growth::new(self.nodes, self.seed));
        let mut measure = || {
            settle();
            tidy_up();
            let time = contender.grow(&growth)?;
            growth.check(&contender.links()?)?;
            let key = (entry.name, workers);
            if !self.exclusive.borrow().contains_key(&key) {
                let pairs = growth.pairs(self.pairs);
                if let Some(count) = contender.count_exclusive(&growth, &pairs)?
                    && !pairs.is_empty()
                {
                    let percent = 100.0 * count as f64 / pairs.len() as f64;
                    self.exclusive.borrow_mut().insert(key, percent);
                }
            }
            Ok(f64::from(self.nodes) / time.as_secs_f64() / 1e3)
        };
        Ok(measure())
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "grow";
    const TITLE: &'static str = "A tree grows by this many thousands of inserts a second: more is better.";

    fn describe(&self) -> String {
        format!(
            "grow: from 1 node to {} · {} pairs · seed {}\n{}",
            self.nodes,
            self.pairs,
            self.seed,
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("nodes", self.nodes);
        parameters.add("pairs", self.pairs);
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        self.lineup.outline(parameters, 1)
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let cases = ["insert".to_string()];
        let results = self.lineup.measure(progress, UNIT, &cases, |_, entry, workers, context| {
            let rate = self.once(entry, workers)?;
            rate.map_err(|wrong| Failure::Wrong { context: context.to_string(), wrong })
        });
        let exclusive = self.exclusive.borrow();
        let with_share = |mut result: Measurement| {
            let of = |(name, workers): &&(&str, usize)| {
                (*name, *workers) == (&*result.implementation, result.workers)
            };
            if let Some(key) = exclusive.keys().find(of) {
                result.details = vec![(EXCLUSIVE, exclusive[key])];
            }
            result
        };
        Ok(results?.into_iter().map(with_share).collect())
    }

    fn notes(&self) -> Vec<String> {
        let exclusive = self.exclusive.borrow();
        let note = |(&(name, workers), percent): (&(&str, usize), &f64)| {
            format!(
                "{name} with {workers} workers: {percent:.2}% of the pairs exclude each other, although \
                neither is above the other"
            )
        };
        exclusive.iter().map(note).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("kinserts/s: thousands of inserts per wall-clock second, more is better; the parent of each \
            insert is drawn from all nodes so far; all links were checked"
            .to_string())
    }
}
