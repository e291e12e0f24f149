//! The experiment: options checked and completed, turns, notes and conclusion.

use super::FilesOptions;
use super::cases::{Case, Mix};
use super::client::Tally;
use super::contender::{Entry, Lineup};
use super::contenders;
use super::layout::NODES;
use super::operation::Way;
use super::turn::{BodyCosts, TurnInput, TurnResult};
use crate::computation::rounds_of;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::Failure;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    cases: Vec<Case>,
    names: Vec<String>,
    operations: Option<u64>,
    costs: BodyCosts,
    lineup: Lineup,
    seed: u64,
    is_quick: bool,
    /// What all repetitions did, by case, workers and implementation.
    tallies: RefCell<BTreeMap<Key, Tally>>,
}

/// The case, the number of workers, and the name of the implementation.
type Key = (usize, usize, &'static str);

const OPERATIONS: RangeInclusive<u64> = 1..=1_000_000_000;
const MOVES: RangeInclusive<u64> = 0..=100_000_000;
/// Microseconds of computation.
const BODY_US: RangeInclusive<f64> = 0.0..=1_000_000.0;
/// Up to a second.
const NODE_NS: RangeInclusive<u64> = 0..=1_000_000_000;
/// The longest computation of all operations of a turn together, by default.
const COMPUTATION_NS: u64 = 400_000_000;
/// Operations of a turn by default, and with `--quick` or in virtual time.
const DEFAULT_OPERATIONS: u64 = 200_000;
const FEW_OPERATIONS: u64 = 4_000;

const WALL: &str = "kops/s";
const CPU: &str = "kops/CPU-s";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &FilesOptions) -> Result<Self, Failure> {
        let common = &options.common;
        if let Some(operations) = options.operations {
            check_range("--operations", operations, &OPERATIONS, "")?;
        }
        for &body in &options.body {
            check_range("--body", body, &BODY_US, "µs")?;
        }
        for &moves in &options.moves {
            check_range("--moves", moves, &MOVES, "")?;
        }
        check_range("--node-time", options.node_time, &NODE_NS, "ns")?;
        let mut cases = Vec::new();
        for mix in Mix::select(&options.mix)? {
            for &way in &options.by {
                for &body in &options.body {
                    let of_body = options.moves.iter();
                    cases.extend(of_body.map(|&moves| Case { mix, way, body: (body * 1e3) as u64, moves }));
                }
            }
        }
        let ways: Vec<Way> = cases.iter().map(|case| case.way).collect();
        let is_virtual = options.is_virtual;
        let lineup =
            Lineup::with_default(contenders::ALL, &[], common, |entry| entry.more.is_virtual || !is_virtual)?;
        let lineup = lineup.with_rule(move |case, entry, _| can_run(entry, ways[case], is_virtual));
        let costs = if is_virtual {
            BodyCosts::Virtual { node: options.node_time }
        } else {
            let second = Duration::from_secs(1);
            BodyCosts::Threads { rounds: rounds_of(second) as f64 / second.as_nanos() as f64 }
        };
        Ok(Self {
            names: cases.iter().map(Case::name).collect(),
            cases,
            operations: options.operations,
            costs,
            lineup,
            seed: common.seed,
            is_quick: common.quick,
            tallies: RefCell::default(),
        })
    }

    fn is_virtual(&self) -> bool {
        matches!(self.costs, BodyCosts::Virtual { .. })
    }

    fn operations(&self, case: &Case) -> u64 {
        self.operations.unwrap_or_else(|| {
            if self.is_quick || self.is_virtual() {
                return FEW_OPERATIONS;
            }
            (COMPUTATION_NS / case.body.max(1)).clamp(FEW_OPERATIONS, DEFAULT_OPERATIONS)
        })
    }

    fn turn(
        &self,
        (case, entry, workers): (usize, &Entry, usize),
        repetition: usize,
        context: &str,
    ) -> Result<TurnResult, Failure> {
        let input = TurnInput {
            case: &self.cases[case],
            workers,
            operations: self.operations(&self.cases[case]),
            seed: self.seed,
            repetition: repetition as u64,
            costs: self.costs,
        };
        let result = input.run(entry, context)?;
        let mut tallies = self.tallies.borrow_mut();
        let tally = tallies.entry((case, workers, entry.name)).or_default();
        *tally = tally.and(result.tally);
        Ok(result)
    }

    /// Returns the measurements with the shares of misses and torn answers.
    fn with_shares(&self, mut results: Vec<Measurement>) -> Vec<Measurement> {
        for (&(case, workers, name), tally) in self.tallies.borrow().iter() {
            let is_its = |result: &&mut Measurement| {
                (&result.case, result.workers, &*result.implementation) == (&self.names[case], workers, name)
            };
            for result in results.iter_mut().filter(is_its) {
                result.details = vec![
                    ("missed_percent", percent(tally.missed, tally)),
                    ("torn_percent", percent(tally.torn, tally)),
                ];
            }
        }
        results
    }
}

fn percent(count: u64, of: &Tally) -> f64 {
    100.0 * count as f64 / of.done as f64
}

/// Returns true if a contender can run operations that name nodes in this way.
fn can_run(entry: &Entry, way: Way, is_virtual: bool) -> bool {
    (way == Way::Path || entry.more.has_handles) && (entry.more.is_virtual || !is_virtual)
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "files";
    const TITLE: &'static str =
        "A file system does this many thousands of operations a second: more is better.";

    fn describe(&self) -> String {
        let time = match self.costs {
            BodyCosts::Threads { .. } => String::new(),
            BodyCosts::Virtual { node } => {
                format!("\nin virtual time: {node} ns for a node, besides the operation; locks cost nothing")
            }
        };
        let operations: Vec<_> =
            self.cases.iter().map(|case| self.operations(case)).fold(Vec::new(), |mut all, count| {
                if !all.contains(&count) {
                    all.push(count);
                }
                all
            });
        let operations = operations.iter().map(u64::to_string).collect::<Vec<_>>().join(" or ");
        format!(
            "files: {NODES} nodes · {operations} operations a turn · seed {}{time}\n{}",
            self.seed,
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("nodes", NODES);
        parameters.add("operations", self.cases.iter().map(|case| self.operations(case)).collect::<Vec<_>>());
        parameters.add("virtual", self.is_virtual());
        if let BodyCosts::Virtual { node } = self.costs {
            parameters.add("node_ns", node);
        }
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        let mut outline = self.lineup.outline(parameters, self.cases.len());
        if !self.is_virtual() {
            // Each turn gives two figures.
            outline.steps *= 2;
        }
        outline
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let mut wall = self.lineup.turns(progress, WALL, &self.names);
        let mut cpu = self.lineup.turns(progress, CPU, &self.names);
        for repetition in 0..self.lineup.repetitions() {
            for (case, entry, workers) in self.lineup.repetition(self.cases.len()) {
                let mut cpu_rate = None;
                wall.turn(case, entry, workers, |context| {
                    let result = self.turn((case, entry, workers), repetition, context)?;
                    cpu_rate = result.cpu_rate;
                    Ok(Some(result.rate))
                })?;
                if !self.is_virtual() {
                    cpu.turn(case, entry, workers, |_| Ok(cpu_rate))?;
                }
            }
        }
        let results = cpu.measurements().into_iter().chain(wall.measurements()).collect();
        Ok(self.with_shares(results))
    }

    fn notes(&self) -> Vec<String> {
        let tallies = self.tallies.borrow();
        let with_any = tallies.iter().filter(|(_, tally)| tally.missed + tally.torn > 0);
        let note = |(&(case, workers, name), tally): (&Key, &Tally)| {
            let [missed, torn] = [tally.missed, tally.torn].map(|count| percent(count, tally));
            format!("{name} on {} with {workers}: {missed:.2}% missed, {torn:.2}% torn", self.names[case])
        };
        with_any.map(note).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("kops/s: thousands of operations per second of the wall clock, or of virtual time; kops/CPU-s: \
            per second of CPU time of all threads; more is better of both; in virtual time no lock, walk, \
            message or log costs anything, but each task of xtasking 50 ns\n\
            missed: operations whose path led nowhere, as the directory had just moved; torn: sums and \
            additions that are not of one moment, which only dashmap permits itself\n\
            all answers were checked, and after each turn all nodes, their places, and their values"
            .to_string())
    }
}
