//! The options, checked and completed, and what one turn is.

use super::Options;
use super::build::Blueprint;
use super::concurrent::{Concurrent, Seen, carry_out};
use super::mix::{Mix, Workload};
use super::operations::{Category, Operation};
use super::replay::{Record, replay};
use super::sizes::Sizes;
use super::world::Mode;
use crate::failure::Failure;
use crate::hierarchy::contenders::ALL;
use crate::lineup::{Lineup, cannot_start};
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::distribution::Random;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use xtasking::{Control, Pool, Runtime};
use xtasking_hierarchy::View;

/// An experiment that can be run.
pub(super) struct Experiment {
    operations: usize,
    sizes: Sizes,
    structural: bool,
    /// Workloads, with long traversals or without.
    cases: Vec<(Workload, bool)>,
    lineup: Lineup<(), Control>,
    seed: u64,
}

/// What a worker has done, each with its stamp.
type Log = Mutex<Vec<(u64, Record)>>;

const UNIT: &str = "kops/s";
/// Sets these streams of random numbers apart from those for other uses of a seed.
const PATH: u64 = 0x57b7;

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        let operations = options.operations.unwrap_or(if common.quick { 2_000 } else { 20_000 }) as usize;
        if !(1..=100_000_000).contains(&operations) {
            return Err(Failure::Usage(format!("--operations is {operations}; choose 1 to 100M")));
        }
        let cases = [false, true].into_iter().flat_map(|long| Workload::ALL.map(|workload| (workload, long)));
        Ok(Self {
            operations,
            sizes: if options.small { Sizes::SMALL } else { Sizes::STANDARD },
            structural: !options.fixed,
            cases: cases.collect(),
            lineup: Lineup::new(ALL, &[], common)?,
            seed: common.seed,
        })
    }

    /// One turn: thousands of operations a second.
    fn once(&self, case: usize, control: Control, workers: usize, context: &str) -> Result<f64, Failure> {
        let (workload, long) = self.cases[case];
        let rt = Runtime::builder().workers(workers).pool(Pool::WorkStealing).build();
        let rt = rt.map_err(|error| cannot_start("xtasking", workers, &error))?;
        let blueprint = || Blueprint::new(self.sizes, self.seed);
        let world = Concurrent::new(&rt, blueprint(), control);
        let mut random = Random::new(self.seed, &[PATH]);
        let mix = Mix::new(workload, long, self.structural);
        let drawn: Vec<(Operation, u64)> =
            (0..self.operations).map(|_| (mix.draw(&mut random), random.below(u64::MAX))).collect();
        let logs: Arc<[Log]> = (0..workers).map(|_| Mutex::default()).collect();
        let stamps = Arc::new(AtomicU64::new(0));
        let began = Instant::now();
        let group = rt.group();
        for (operation, seed) in drawn {
            let (logs, stamps, layout) = (logs.clone(), stamps.clone(), world.layout().clone());
            let task = rt.task(()).of(&group).claim(world.claim(operation, seed));
            task.spawn_with(move |(), held, cx| {
                let outcome = carry_out(operation, seed, &layout, View::new(held), cx);
                // While it has all that it touches: of two that touch the same the first one has the smaller stamp.
                let stamp = stamps.fetch_add(1, Relaxed);
                let mut log = logs[cx.worker()].lock().expect("nobody panics with it");
                log.push((stamp, Record { operation, seed, outcome }));
            });
        }
        let waited = group.wait();
        let time = began.elapsed();
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let failed = |text: String| wrong(crate::ycsb::plan::Wrong::new(text));
        waited.map_err(|error| failed(format!("an operation failed: {error}")))?;
        let take = |log: &Log| std::mem::take(&mut *log.lock().expect("nobody panics with it"));
        let mut records: Vec<(u64, Record)> = logs.iter().flat_map(take).collect();
        records.sort_unstable_by_key(|record| record.0);
        let records: Vec<Record> = records.into_iter().map(|record| record.1).collect();
        let again = blueprint();
        let check = rt
            .task(())
            .claim(world.all())
            .submit_with(move |(), held, _| replay(again, &records, &Seen(View::new(held))));
        check.join().map_err(|error| failed(format!("the replay failed: {error}")))?.map_err(wrong)?;
        Ok(self.operations as f64 / time.as_secs_f64() / 1e3)
    }
}

fn name(workload: Workload, long: bool) -> String {
    format!("{}{}", workload.name(), if long { ", long traversals" } else { "" })
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "stmbench7";

    fn describe(&self) -> String {
        let structural = if self.structural { "" } else { ", none of which changes the structure" };
        format!(
            "STMBench7: {} operations{structural} · {} composite parts of {} atomic ones · seed {}\n{}",
            self.operations,
            self.sizes.composites,
            self.sizes.parts,
            self.seed,
            self.lineup.describe()
        )
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("operations", self.operations);
        parameters.add("composites", self.sizes.composites);
        parameters.add("structural", self.structural);
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        parameters
    }

    fn steps(&self) -> u64 {
        self.lineup.steps(self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let cases: Vec<_> = self.cases.iter().map(|&(workload, long)| name(workload, long)).collect();
        self.lineup.measure(progress, UNIT, &cases, |case, entry, workers, context| {
            self.once(case, entry.more, workers, context)
        })
    }

    fn notes(&self) -> Vec<String> {
        let shares = |&(workload, long): &(Workload, bool)| {
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
        [title].into_iter().chain(self.cases.iter().map(shares)).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousands of operations a second: more is better; after each turn all invariants were checked, and all operations \
            done again by one, in the order in which they were done, with the same results and the same end"
            .to_string())
    }
}
