//! Checks and completes the options, and runs the turns.

use super::Options;
use super::bound::{self, Bound};
use super::build::Blueprint;
use super::concurrent::Concurrent;
use super::contenders::ALL;
use super::delays::WriterDelays;
use super::effort::Times;
use super::mix::{Long, Mix, Workload};
use super::operations::{Category, Operation};
use super::options::LongReads;
use super::sizes::Sizes;
use super::turn::Work;
use super::world::Mode;
use std::cell::RefCell;
use std::collections::BTreeMap;
use xtasking_harness::controls::Isolation;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::Lineup;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};
use xtasking_virtual_time::Spread;

/// An experiment that can be run.
pub(super) struct Experiment {
    work: Work,
    structural: bool,
    cases: Vec<(Workload, Long)>,
    lineup: Lineup<(), Isolation>,
    /// By case, workers and contender.
    virtual_turns: RefCell<BTreeMap<(usize, usize, &'static str), VirtualTurn>>,
    /// By case and workers.
    surveys: RefCell<BTreeMap<(usize, usize), String>>,
}

/// What is known of a turn in virtual time.
struct VirtualTurn {
    isolation: Isolation,
    spread: Spread,
    bound: Bound,
    /// The latencies of short writers, if there were any.
    delays: Option<WriterDelays>,
}

const UNIT: &str = "kops/s";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        if !(1..=1_000).contains(&options.clients) {
            return Err(Failure::Usage(format!("--clients is {}; choose 1 to 1000", options.clients)));
        }
        let mut common = options.common.clone();
        if options.is_virtual {
            // In virtual time all repetitions are equal.
            common.repetitions = common.repetitions.or(Some(1));
        }
        let default = match (common.quick, options.is_virtual) {
            (true, _) => 1_000,
            (false, true) => 2_000,
            (false, false) => 20_000,
        };
        let operations = options.operations.unwrap_or(default) as usize;
        if !(1..=100_000_000).contains(&operations) {
            return Err(Failure::Usage(format!("--operations is {operations}; choose 1 to 100M")));
        }
        let workloads = if options.workloads.is_empty() { &Workload::ALL[..] } else { &options.workloads };
        let widest = if options.no_long_writes { Long::Reading } else { Long::All };
        let long: &[Long] =
            if options.no_long || common.quick { &[Long::None] } else { &[Long::None, widest] };
        let cases = long.iter().flat_map(|&long| workloads.iter().map(move |&workload| (workload, long)));
        Ok(Self {
            work: Work {
                operations,
                long_reads: options.long_reads,
                clients: options.clients,
                sizes: if options.small { Sizes::SMALL } else { Sizes::STANDARD },
                seed: common.seed,
                times: options.is_virtual.then_some(options.times),
            },
            structural: !options.fixed,
            cases: cases.collect(),
            lineup: Lineup::new(&ALL, &[], &common)?,
            virtual_turns: RefCell::default(),
            surveys: RefCell::default(),
        })
    }
}

impl Experiment {
    /// Adds what is known of the turns in virtual time to their results.
    fn with_details(&self, cases: &[String], mut results: Vec<Measurement>) -> Vec<Measurement> {
        for (&(case, workers, contender), turn) in self.virtual_turns.borrow().iter() {
            let is_its = |result: &&mut Measurement| {
                (&result.case, result.workers, &*result.implementation) == (&cases[case], workers, contender)
            };
            if let Some(result) = results.iter_mut().find(is_its) {
                result.details = vec![
                    ("bound_kops", turn.bound.rate()),
                    ("load_max_to_mean", 1.0 + turn.spread.imbalance),
                    ("least_load_max_to_mean", turn.bound.load()),
                    ("chain_to_share", turn.bound.chain_to_share()),
                    ("blocked_percent", 100.0 * turn.spread.blocked),
                ];
            }
        }
        results
    }
}

/// Describes the content of a granule, or a node of a tree by its number.
fn describe(isolation: Isolation, world: &Blueprint, number: u32) -> String {
    match isolation {
        Isolation::Granules(control) => Concurrent::describe(control, world, number),
        Isolation::Trees => bound::describe(world, number),
    }
}

fn name(workload: Workload, long: Long) -> String {
    let long = match long {
        Long::None => "",
        Long::Reading => ", long reads",
        Long::All => ", long traversals",
    };
    format!("{}{long}", workload.name())
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "stmbench7";
    const TITLE: &'static str = "Throughput of STMBench7, by kind of lock";

    fn describe(&self) -> String {
        let Work { operations, long_reads, clients, sizes, seed, times } = self.work;
        let long_reads = match long_reads {
            LongReads::Claimed => "",
            LongReads::Snapshot => ", long reads from snapshots",
            LongReads::Survey => ", long reads from surveys and snapshots",
        };
        let time = times.map(|times| format!("\nin virtual time: {times}; locks and queues cost nothing"));
        let time = time.unwrap_or_default();
        let structural = if self.structural { "" } else { ", without structural changes" };
        format!(
            "STMBench7: {operations} operations{structural}, {clients} at a time for each worker\
             {long_reads} · {} composite parts of {} atomic ones · seed {seed}{time}\n{}",
            sizes.composites,
            sizes.parts,
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("operations", self.work.operations);
        parameters.add("composites", self.work.sizes.composites);
        parameters.add("structural", self.structural);
        parameters.add("clients", self.work.clients);
        parameters.add("long_reads", self.work.long_reads.name());
        parameters.add("virtual", self.work.times.is_some());
        if let Some(Times { operation, part }) = self.work.times {
            parameters.add("operation_ns", operation);
            parameters.add("part_ns", part);
        }
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.work.seed);
        self.lineup.outline(parameters, self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let cases: Vec<_> = self.cases.iter().map(|&(workload, long)| name(workload, long)).collect();
        let results = self.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            let (workload, long) = self.cases[case];
            let mix = Mix::new(workload, long, self.structural);
            let turn = self.work.turn(&mix, entry.more, workers, context)?;
            if let Some((spread, bound)) = turn.spread.zip(turn.bound) {
                let turn = VirtualTurn { isolation: entry.more, spread, bound, delays: turn.delays };
                self.virtual_turns.borrow_mut().insert((case, workers, entry.name), turn);
            }
            if let Some(surveys) = turn.surveys {
                self.surveys.borrow_mut().insert((case, workers), surveys);
            }
            Ok(turn.rate)
        });
        Ok(self.with_details(&cases, results?))
    }

    fn notes(&self) -> Vec<String> {
        let shares = |&(workload, long): &(Workload, Long)| {
            let mix = Mix::new(workload, long, self.structural);
            let share = |category: Category| {
                let of = Operation::ALL.into_iter().filter(|operation| operation.category() == category);
                let (reads, writes): (Vec<_>, Vec<_>) =
                    of.partition(|operation| operation.mode() == Mode::Read);
                let percent = |operations: Vec<Operation>| {
                    100.0
                        * operations
                            .into_iter()
                            .map(|operation| mix.probability(operation))
                            .fold(0.0, |sum, share| sum + share)
                };
                format!("{category:?} {:.1} + {:.1}", percent(reads), percent(writes)).to_lowercase()
            };
            format!("{}: {}", name(workload, long), Category::ALL.map(share).join(", "))
        };
        let title = "percent of all operations, reading + writing:".to_string();
        let virtual_turns = self.virtual_turns.borrow();
        let world = Blueprint::new(self.work.sizes, self.work.seed);
        let note = |(&(case, workers, contender), turn): (&(usize, usize, &str), &VirtualTurn)| {
            let (workload, long) = self.cases[case];
            let VirtualTurn { isolation, spread, bound, delays } = turn;
            let delays = delays.as_ref().map_or_else(String::new, |delays| format!("; {delays}"));
            let bound = bound.report(|granule| describe(*isolation, &world, granule));
            format!("{} · {contender} with {workers}: {spread}{delays}; {bound}", name(workload, long))
        };
        let turns = virtual_turns.iter().map(note);
        let surveys = self.surveys.borrow();
        let survey = |(&(case, workers), surveys): (&(usize, usize), &String)| {
            let (workload, long) = self.cases[case];
            format!("{} · lines with {workers}: {surveys}", name(workload, long))
        };
        let turns = turns.chain(surveys.iter().map(survey));
        [title].into_iter().chain(self.cases.iter().map(shares)).chain(turns).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousands of operations a second, more is better; \
            after each turn all invariants were checked, and \
            a sequential replay of all operations had the same results and the same final state"
            .to_string())
    }
}
