//! The options, checked and completed, and what one turn is.

use super::Options;
use super::contenders::{self, Entry, Less, Team};
use super::graph::Graph;
use super::tally::imbalance;
use super::work::Work;
use crate::cholesky::tiles::Lower;
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use std::cell::RefCell;
use std::sync::Arc;
use xtasking::platform::Costs;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Spawner,
    Fib,
    Cholesky,
    WatchedFib,
    WatchedCholesky,
    VirtualFib,
    VirtualCholesky,
}

/// On what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// Threads, against the clock.
    Threads,
    /// Threads that note how long they are busy.
    Watched,
    Virtual,
}

impl Case {
    pub(super) const ALL: [Self; 7] = [
        Self::Spawner,
        Self::Fib,
        Self::Cholesky,
        Self::WatchedFib,
        Self::WatchedCholesky,
        Self::VirtualFib,
        Self::VirtualCholesky,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Spawner => "spawner",
            Self::Fib => "fib",
            Self::Cholesky => "cholesky",
            Self::WatchedFib => "watched fib",
            Self::WatchedCholesky => "watched cholesky",
            Self::VirtualFib => "virtual fib",
            Self::VirtualCholesky => "virtual cholesky",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Spawner => "one task spawns empty ones: ns a task",
            Self::Fib => "a task for each call of Fibonacci's function: ns a task",
            Self::Cholesky => "a task for each step at each tile of a matrix: ns a task",
            Self::WatchedFib => "λ on threads, whose workers note how long they are busy",
            Self::WatchedCholesky => "the same of the matrix",
            Self::VirtualFib => "λ on virtual cores",
            Self::VirtualCholesky => "the same of the matrix, whose tiles only take time",
        }
    }

    fn on(self) -> On {
        match self {
            Self::Spawner | Self::Fib | Self::Cholesky => On::Threads,
            Self::WatchedFib | Self::WatchedCholesky => On::Watched,
            Self::VirtualFib | Self::VirtualCholesky => On::Virtual,
        }
    }
}

/// An experiment that can be run.
pub(super) struct Experiment {
    cases: Vec<Case>,
    tasks: u64,
    number: u32,
    order: usize,
    tile: usize,
    cores: Vec<usize>,
    virtual_number: u32,
    virtual_rows: usize,
    product: u64,
    lineup: Lineup<Team, Less>,
    seed: u64,
    notes: RefCell<Vec<String>>,
}

/// Beyond these it takes minutes.
const NUMBERS: std::ops::RangeInclusive<u32> = 10..=42;
const VIRTUAL_NUMBERS: std::ops::RangeInclusive<u32> = 5..=35;
const TASKS: std::ops::RangeInclusive<u64> = 1_000..=50_000_000;
const ORDERS: std::ops::RangeInclusive<usize> = 1..=16_384;
/// So many rows of tiles are three million tasks.
const MOST_ROWS: usize = 256;
const MOST_CORES: usize = 1_024;

const TIME: &str = "ns";
const LAMBDA: &str = "λ";

/// Refuses a number that is not within a range.
fn within<T: PartialOrd + std::fmt::Display>(
    option: &str,
    number: T,
    range: &std::ops::RangeInclusive<T>,
) -> Result<T, Failure> {
    if range.contains(&number) {
        return Ok(number);
    }
    let text = format!("{option} is {number}; choose {} to {}", range.start(), range.end());
    Err(Failure::Usage(text))
}

/// The cases that are named by any part of their names, in their own order.
fn select_cases(words: &[String]) -> Result<Vec<Case>, Failure> {
    if words.is_empty() {
        return Ok(Case::ALL.into_iter().filter(|case| case.on() != On::Watched).collect());
    }
    // A whole name stands for itself alone, even where others contain it.
    let is_name = |word: &str| Case::ALL.iter().any(|case| case.name() == word);
    let matches =
        |case: Case, word: &str| case.name() == word || !is_name(word) && case.name().contains(word);
    for word in words {
        if !Case::ALL.into_iter().any(|case| matches(case, word)) {
            let known = Case::ALL.map(Case::name).join(", ");
            return Err(Failure::Usage(format!("no case has '{word}' in its name; known are {known}")));
        }
    }
    Ok(Case::ALL.into_iter().filter(|&case| words.iter().any(|word| matches(case, word))).collect())
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        let either = |quick, whole| if common.quick { quick } else { whole };
        let tasks = options.tasks.unwrap_or(if common.quick { 200_000 } else { 10_000_000 });
        let (order, tile) = (options.order.unwrap_or(either(256, 1024) as usize), options.tile);
        within("--order", order, &ORDERS)?;
        if tile == 0 || !order.is_multiple_of(tile) || order / tile > MOST_ROWS {
            let text =
                format!("--tile is {tile}; choose a divisor of {order} that makes at most {MOST_ROWS} rows");
            return Err(Failure::Usage(text));
        }
        for &cores in &options.cores {
            within("--cores", cores, &(1..=MOST_CORES))?;
        }
        let rows = options.virtual_rows.unwrap_or(either(12, 64) as usize);
        Ok(Self {
            cases: select_cases(&options.cases)?,
            tasks: within("--tasks", tasks, &TASKS)?,
            number: within("--number", options.number.unwrap_or(either(25, 35)), &NUMBERS)?,
            order,
            tile,
            cores: options.cores.clone(),
            virtual_number: within(
                "--virtual-number",
                options.virtual_number.unwrap_or(either(15, 25)),
                &VIRTUAL_NUMBERS,
            )?,
            virtual_rows: within("--virtual-rows", rows, &(1..=MOST_ROWS))?,
            product: options.product,
            lineup: Lineup::new(contenders::ALL, &[], common)?,
            seed: common.seed,
            notes: RefCell::default(),
        })
    }

    fn cases_on(&self, on: On) -> Vec<Case> {
        self.cases.iter().copied().filter(|case| case.on() == on).collect()
    }

    /// What is to be done, once.
    fn work(&self, case: Case, less: &Less) -> Work {
        match case {
            Case::Spawner => Work::Spawner(self.tasks / less.tasks),
            Case::Fib | Case::WatchedFib => Work::Fib(self.number - less.number),
            Case::VirtualFib => Work::Fib(self.virtual_number),
            Case::Cholesky | Case::WatchedCholesky => {
                Work::Cholesky(Arc::new(Graph::of(Lower::random(self.order, self.tile, self.seed))))
            }
            Case::VirtualCholesky => {
                Work::Cholesky(Arc::new(Graph::pretended(self.virtual_rows, self.product)))
            }
        }
    }

    /// One turn on threads: nanoseconds a task.
    fn once(&self, case: Case, entry: &Entry, workers: usize, context: &str) -> Result<f64, Failure> {
        let team = (entry.start)(workers)?;
        let (warming, work) = (self.work(case, &entry.more), self.work(case, &entry.more));
        let time = team.time(&warming, &work, context)?;
        Ok(time.as_secs_f64() * 1e9 / work.tasks() as f64)
    }

    /// λ on threads.
    fn watch(&self, progress: &Progress, results: &mut Vec<Measurement>) -> Result<(), Failure> {
        for case in self.cases_on(On::Watched) {
            for &workers in self.lineup.worker_counts() {
                for entry in &self.lineup.contenders {
                    let context = format!("{} on {} with {workers} workers", entry.name, case.name());
                    progress.begin(context.clone());
                    let watched = (entry.start)(workers)?.watch(&self.work(case, &entry.more), &context)?;
                    let mut details = vec![("milliseconds", watched.time.as_secs_f64() * 1e3)];
                    if let Some((steals, dealt)) = watched.counted {
                        details.extend([("steals", steals as f64), ("remote_spawns", dealt as f64)]);
                    }
                    self.found(results, case, entry, watched.busy, details);
                    progress.advance();
                }
            }
        }
        Ok(())
    }

    /// λ on virtual cores.
    fn simulate(&self, progress: &Progress, results: &mut Vec<Measurement>) -> Result<(), Failure> {
        for case in self.cases_on(On::Virtual) {
            for &cores in &self.cores {
                for entry in &self.lineup.contenders {
                    let context = format!("{} on {} with {cores} cores", entry.name, case.name());
                    progress.begin(context.clone());
                    let work = self.work(case, &entry.more);
                    if let Some(seen) = (entry.start)(cores)?.simulate(&work, Costs::default(), self.seed) {
                        let seen =
                            seen.map_err(|wrong| Failure::Wrong { context: context.clone(), wrong })?;
                        let details = vec![
                            ("virtual_milliseconds", seen.makespan as f64 / 1e6),
                            ("speed_up", seen.busy.iter().sum::<u64>() as f64 / seen.makespan as f64),
                            ("steals", seen.steals as f64),
                            ("remote_spawns", seen.remote_spawns as f64),
                        ];
                        progress.measured(&context, imbalance(&seen.busy), LAMBDA);
                        self.found(results, case, entry, seen.busy, details);
                    }
                    progress.advance();
                }
            }
        }
        Ok(())
    }

    /// Adds how long each worker was busy to the results, and what else was found to the notes.
    fn found(
        &self,
        results: &mut Vec<Measurement>,
        case: Case,
        entry: &Entry,
        busy: Vec<u64>,
        details: Vec<(&'static str, f64)>,
    ) {
        let workers = busy.len();
        let more =
            details.iter().map(|(name, number)| format!("{} {}", brief(*number), name.replace('_', " ")));
        let more = more.collect::<Vec<_>>().join(" · ");
        self.notes.borrow_mut().push(format!("{} {workers} {}: {more}", case.name(), entry.name));
        let lambda = vec![imbalance(&busy)];
        let found = Measurement::new(case.name(), entry.name, workers, LAMBDA, lambda);
        results.push(Measurement { details, busy, ..found });
    }
}

/// Without digits that say nothing.
fn brief(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number}") } else { format!("{number:.3}") }
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "pools";

    fn describe(&self) -> String {
        let names = self.cases.iter().map(|case| case.name()).collect::<Vec<_>>().join(", ");
        let cores = self.cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let costs = Costs::default();
        format!(
            "pools: {names} · seed {}\non threads: {} tasks of one spawner · fib of {} · order {} in tiles of {}\n\
             on {cores} virtual cores: fib of {} · {} rows of tiles, {} ns a product, half of that a division, a sixth a \
             factor\n{costs:?}\n{}",
            self.seed,
            self.tasks,
            self.number,
            self.order,
            self.tile,
            self.virtual_number,
            self.virtual_rows,
            self.product,
            self.lineup.describe()
        )
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("cases", self.cases.iter().map(|case| case.name()).collect::<Vec<_>>());
        parameters.add("tasks", self.tasks);
        parameters.add("number", self.number);
        parameters.add("order", self.order);
        parameters.add("tile", self.tile);
        parameters.add("cores", self.cores.clone());
        parameters.add("virtual_number", self.virtual_number);
        parameters.add("virtual_rows", self.virtual_rows);
        parameters.add("product_ns", self.product);
        parameters.add("costs", format!("{:?}", Costs::default()));
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        parameters
    }

    fn steps(&self) -> u64 {
        let entries = self.lineup.contenders.len();
        let watched = self.cases_on(On::Watched).len() * self.lineup.worker_counts().len();
        let simulated = self.cases_on(On::Virtual).len() * self.cores.len();
        self.lineup.steps(self.cases_on(On::Threads).len()) + ((watched + simulated) * entries) as u64
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let cases = self.cases_on(On::Threads);
        let names: Vec<_> = cases.iter().map(|case| case.name().to_string()).collect();
        let once = |case: usize, entry: &Entry, workers, context: &str| {
            self.once(cases[case], entry, workers, context)
        };
        let mut results = self.lineup.measure(progress, TIME, &names, once)?;
        self.watch(progress, &mut results)?;
        self.simulate(progress, &mut results)?;
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        let smaller = self.lineup.contenders.iter().filter(|entry| entry.more.number > 0);
        let smaller = smaller.map(|entry| {
            let (tasks, number) = (self.tasks / entry.more.tasks, self.number - entry.more.number);
            format!("{} spawned {tasks} tasks and computed number {number}", entry.name)
        });
        let mut notes = self.notes.take();
        if !self.cases_on(On::Threads).is_empty() {
            notes.extend(smaller);
        }
        notes
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("ns: nanoseconds a task, of the clock on the wall; λ: how much longer the busiest worker was busy than all are on \
            average; less is better; all tasks were counted, all results checked"
            .to_string())
    }
}
