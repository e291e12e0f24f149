//! The experiment: options checked and completed, turns and conclusion.

use super::IrregularOptions;
use super::contenders::{self, Entry, PLAIN, Solver, Workloads};
use super::workload::{Expected, Problem, Workload};
use std::ops::RangeInclusive;
use std::time::Instant;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters, set_speed_ups};
use xtasking_harness::suggestion::matching_cases;

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    workloads: Vec<Workload>,
    depth: u32,
    queens: u32,
    levels: u32,
    items: u64,
    seed: u64,
    lineup: Lineup<Solver, Workloads>,
}

// The ranges of options, beyond which runs take minutes.
const DEPTHS: RangeInclusive<u32> = 1..=13;
const QUEENS: RangeInclusive<u32> = 1..=15;
const LEVELS: RangeInclusive<u32> = 1..=8;
const ITEMS: RangeInclusive<u64> = 1..=1_000_000_000;

const UNIT: &str = "ms";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &IrregularOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let either = |quick, full| if common.quick { quick } else { full };
        let workloads = match &options.workloads[..] {
            [] => Workload::ALL.to_vec(),
            words => {
                let selected =
                    matching_cases(words, &Workload::ALL.map(Workload::name)).map_err(Failure::Usage)?;
                selected.into_iter().map(|index| Workload::ALL[index]).collect()
            }
        };
        let items = options.items.unwrap_or(if common.quick { 20_000 } else { 1_000_000 });
        let rule = workloads.clone();
        let lineup = Lineup::new(contenders::ALL, &[], common)?.with_rule(move |case, entry, workers| {
            (workers == 1 || entry.is_parallel) && entry.more.contain(rule[case])
        });
        Ok(Self {
            workloads,
            depth: check_range("--depth", options.depth.unwrap_or(either(5, 8)), &DEPTHS, "")?,
            queens: check_range("--queens", options.queens.unwrap_or(either(8, 12)), &QUEENS, "")?,
            levels: check_range("--levels", options.levels.unwrap_or(either(4, 6)), &LEVELS, "")?,
            items: check_range("--items", items, &ITEMS, "")?,
            seed: common.seed,
            lineup,
        })
    }

    fn problem(&self, workload: Workload) -> Problem {
        match workload {
            Workload::Tree => Problem::Tree(self.depth),
            Workload::Queens => Problem::Queens(self.queens),
            Workload::Skynet => Problem::Skynet(10u64.pow(self.levels)),
            Workload::Sort => Problem::random_integers(self.items, self.seed),
        }
    }
}

/// Runs one turn, and returns milliseconds.
fn once(
    problem: &Problem,
    expected: &Expected,
    entry: &Entry,
    workers: usize,
    context: &str,
) -> Result<f64, Failure> {
    let solve = (entry.start)(workers)?;
    // Warms up threads, caches and stacks.
    solve(&mut problem.clone());
    let mut problem = problem.clone();
    settle();
    let began = Instant::now();
    let number = solve(&mut problem);
    let time = began.elapsed();
    let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
    problem.check(number, expected).map_err(wrong)?;
    Ok(time.as_secs_f64() * 1e3)
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "irregular";
    const TITLE: &'static str =
        "Each runtime takes this many milliseconds for work that is unevenly divided: less is better.";

    fn describe(&self) -> String {
        let names = self.workloads.iter().map(|workload| workload.name()).collect::<Vec<_>>().join(", ");
        format!(
            "irregular: {names} · seed {}\n\
            tree of depth {} · {} queens · {} levels of skynet · {} integers\n{}",
            self.seed,
            self.depth,
            self.queens,
            self.levels,
            self.items,
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("workloads", self.workloads.iter().map(|one| one.name()).collect::<Vec<_>>());
        parameters.add("depth", self.depth);
        parameters.add("queens", self.queens);
        parameters.add("levels", self.levels);
        parameters.add("items", self.items);
        parameters.add("seed", self.seed);
        self.lineup.add_to(&mut parameters);
        self.lineup.outline(parameters, self.workloads.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let problems: Vec<_> = self.workloads.iter().map(|&workload| self.problem(workload)).collect();
        let expected: Vec<_> = problems.iter().map(Problem::expected).collect();
        let names: Vec<_> = self.workloads.iter().map(|workload| workload.name().to_string()).collect();
        let once = |case: usize, entry: &Entry, workers, context: &str| {
            once(&problems[case], &expected[case], entry, workers, context)
        };
        let mut results = self.lineup.measure(progress, UNIT, &names, once)?;
        set_speed_ups(&mut results, PLAIN);
        Ok(results)
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("ms: wall-clock milliseconds, less is better; speed-up: time of `plain` ÷ time, more is better; \
        all outcomes were checked"
            .to_string())
    }
}
