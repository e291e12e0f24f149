//! The experiment: options checked and completed, turns, notes and conclusion.

use super::PoolsOptions;
use super::case::{Case, Mode, select_cases};
use super::compared;
use super::contenders::{self, Entry, Reduction, Team};
use super::graph::Graph;
use super::plain;
use super::work::Work;
use crate::matrix::tiles::Lower;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::sync::Arc;
use xtasking::platform::Costs;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::Lineup;
use xtasking_harness::plural::counted;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters, Summary};
use xtasking_virtual_time::imbalance;

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    cases: Vec<Case>,
    tasks: u64,
    number: u32,
    order: usize,
    tile: usize,
    cores: Vec<usize>,
    virtual_number: u32,
    virtual_rows: usize,
    compared_number: u32,
    compared_rows: usize,
    product: u64,
    lineup: Lineup<Team, Reduction>,
    seed: u64,
    notes: RefCell<Vec<String>>,
}

// The ranges of options, beyond which runs take minutes or measure nothing.
const NUMBERS: RangeInclusive<u32> = 10..=42;
const VIRTUAL_NUMBERS: RangeInclusive<u32> = 5..=35;
const TASKS: RangeInclusive<u64> = 1_000..=50_000_000;
const ORDERS: RangeInclusive<usize> = 1..=16_384;
/// The numbers of rows of tiles. The largest makes three million tasks.
const TILE_ROWS: RangeInclusive<usize> = 1..=256;
const CORES: RangeInclusive<usize> = 1..=1_024;

const TIME: &str = "ns";
const LAMBDA: &str = "λ";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &PoolsOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let either = |quick, full| if common.quick { quick } else { full };
        let tasks = options.tasks.unwrap_or(if common.quick { 200_000 } else { 10_000_000 });
        let (order, tile) = (options.order.unwrap_or(either(256, 1024) as usize), options.tile);
        check_range("--order", order, &ORDERS, "")?;
        if tile == 0 || !order.is_multiple_of(tile) || !TILE_ROWS.contains(&(order / tile)) {
            let max_rows = TILE_ROWS.end();
            return Err(Failure::Usage(format!(
                "--tile is {tile}; choose a divisor of {order} that gives at most {max_rows} rows of tiles"
            )));
        }
        for &cores in &options.cores {
            check_range("--cores", cores, &CORES, "")?;
        }
        let number = options.number.unwrap_or(either(25, 35));
        let virtual_number = options.virtual_number.unwrap_or(either(15, 25));
        let virtual_rows = options.virtual_rows.unwrap_or(either(12, 64) as usize);
        // On threads the tasks take their time, so that there are fewer.
        let compared_number = options.virtual_number.unwrap_or(either(12, 20));
        let compared_rows = options.virtual_rows.unwrap_or(either(8, 40) as usize);
        Ok(Self {
            cases: select_cases(&options.cases)?,
            tasks: check_range("--tasks", tasks, &TASKS, "")?,
            number: check_range("--number", number, &NUMBERS, "")?,
            order,
            tile,
            cores: options.cores.clone(),
            virtual_number: check_range("--virtual-number", virtual_number, &VIRTUAL_NUMBERS, "")?,
            virtual_rows: check_range("--virtual-rows", virtual_rows, &TILE_ROWS, "")?,
            compared_number,
            compared_rows,
            product: options.product,
            lineup: Lineup::new(contenders::ALL, &[], common)?,
            seed: common.seed,
            notes: RefCell::default(),
        })
    }

    fn cases_in(&self, mode: Mode) -> Vec<Case> {
        self.cases.iter().copied().filter(|case| case.mode() == mode).collect()
    }

    /// Creates the work of a case, for one run.
    fn work(&self, case: Case, reduction: &Reduction) -> Work {
        match case {
            Case::Spawner => Work::Spawner(self.tasks / reduction.tasks),
            Case::Fib | Case::WatchedFib => Work::Fib(self.number - reduction.number),
            Case::VirtualFib => Work::Fib(self.virtual_number),
            Case::Cholesky | Case::WatchedCholesky => {
                Work::Cholesky(Arc::new(Graph::of(Lower::random(self.order, self.tile, self.seed))))
            }
            Case::VirtualCholesky => {
                Work::Cholesky(Arc::new(Graph::modelled(self.virtual_rows, self.product)))
            }
            Case::ComparedFib => Work::LongFib(self.compared_number, self.product),
            Case::ComparedCholesky => {
                Work::Cholesky(Arc::new(Graph::modelled(self.compared_rows, self.product)))
            }
        }
    }

    /// Runs one timed turn, and returns nanoseconds per task.
    fn once(&self, case: Case, entry: &Entry, workers: usize, context: &str) -> Result<f64, Failure> {
        let team = (entry.start)(workers)?;
        let (warm_up, work) = (self.work(case, &entry.more), self.work(case, &entry.more));
        let time = team.time(&warm_up, &work, context)?;
        Ok(time.as_secs_f64() * 1e9 / work.tasks() as f64)
    }

    /// Measures a case on threads as a plain sequential program, and returns nanoseconds.
    fn plain(&self, case: Case, progress: &Progress) -> Result<f64, Failure> {
        let context = format!("plain on {}", case.name());
        progress.begin(context.clone());
        let work = self.work(case, &contenders::NO_REDUCTION);
        // The first run warms up caches and memory, as the contenders do.
        let time = plain::time(&work).and_then(|_| plain::time(&work));
        let time = time.map_err(|wrong| Failure::Wrong { context, wrong })?;
        Ok(time.as_secs_f64() * 1e9)
    }

    /// Measures the time per task on threads. The plain program runs beside the first contender, as
    /// often as that.
    fn time(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let cases = self.cases_in(Mode::Timed);
        let names: Vec<_> = cases.iter().map(|case| case.name().to_string()).collect();
        let plain_times = vec![RefCell::new(Vec::new()); cases.len()];
        let once = |at: usize, entry: &Entry, workers, context: &str| {
            if entry.name == self.lineup.contenders[0].name {
                let tasks = self.work(cases[at], &contenders::NO_REDUCTION).tasks();
                plain_times[at].borrow_mut().push(self.plain(cases[at], progress)? / tasks as f64);
            }
            self.once(cases[at], entry, workers, context)
        };
        let mut results = self.lineup.measure(progress, TIME, &names, once)?;
        for (name, times) in names.iter().zip(plain_times) {
            let plain_time = Summary::of(times.into_inner()).median;
            let of_case = results.iter_mut().filter(|result| result.case == *name);
            of_case.for_each(|result| result.speed_up = Some(plain_time / result.summary.median));
        }
        Ok(results)
    }

    /// Measures λ on threads.
    fn watch(&self, progress: &Progress, results: &mut Vec<Measurement>) -> Result<(), Failure> {
        for case in self.cases_in(Mode::Watched) {
            let tasks = self.work(case, &contenders::NO_REDUCTION).tasks() as f64;
            let plain_time = self.plain(case, progress)? / tasks;
            for &workers in self.lineup.worker_counts() {
                for entry in &self.lineup.contenders {
                    let with = counted(workers, "worker");
                    let context = format!("{} on {} with {with}", entry.name, case.name());
                    progress.begin(context.clone());
                    let work = self.work(case, &entry.more);
                    let watched = (entry.start)(workers)?.watch(&work, &context)?;
                    let speed_up = plain_time * work.tasks() as f64 / (watched.time.as_secs_f64() * 1e9);
                    let mut details = vec![("milliseconds", watched.time.as_secs_f64() * 1e3)];
                    if let Some((steals, remote_spawns)) = watched.transfers {
                        details.extend([("steals", steals as f64), ("remote_spawns", remote_spawns as f64)]);
                    }
                    self.add_loads(results, case, entry, watched.busy, speed_up, details);
                    progress.advance();
                }
            }
        }
        Ok(())
    }

    /// Computes λ on virtual cores.
    fn simulate(&self, progress: &Progress, results: &mut Vec<Measurement>) -> Result<(), Failure> {
        let costs = Costs::default();
        for case in self.cases_in(Mode::Virtual) {
            for &cores in &self.cores {
                for entry in &self.lineup.contenders {
                    let with = counted(cores, "core");
                    let context = format!("{} on {} with {with}", entry.name, case.name());
                    progress.begin(context.clone());
                    let work = self.work(case, &entry.more);
                    let result = (entry.start)(cores)?.simulate(&work, costs, self.seed);
                    if let Some(result) = result {
                        let result =
                            result.map_err(|wrong| Failure::Wrong { context: context.clone(), wrong })?;
                        let speed_up = work.modelled_time(&costs) as f64 / result.makespan as f64;
                        let busy = result.busy.iter().sum::<u64>() as f64;
                        let details = vec![
                            ("virtual_milliseconds", result.makespan as f64 / 1e6),
                            ("busy_cores", busy / result.makespan as f64),
                            ("steals", result.steals as f64),
                            ("remote_spawns", result.remote_spawns as f64),
                        ];
                        progress.show_measurement(&context, imbalance(&result.busy), LAMBDA);
                        self.add_loads(results, case, entry, result.busy, speed_up, details);
                    }
                    progress.advance();
                }
            }
        }
        Ok(())
    }

    /// Adds the busy times of workers to the results, and the details to the notes.
    fn add_loads(
        &self,
        results: &mut Vec<Measurement>,
        case: Case,
        entry: &Entry,
        busy: Vec<u64>,
        speed_up: f64,
        details: Vec<(&'static str, f64)>,
    ) {
        let workers = busy.len();
        let texts =
            details.iter().map(|(name, number)| format!("{} {}", brief(*number), name.replace('_', " ")));
        let texts = texts.collect::<Vec<_>>().join(" · ");
        self.notes.borrow_mut().push(format!("{} {workers} {}: {texts}", case.name(), entry.name));
        let lambda = vec![imbalance(&busy)];
        let measurement = Measurement::new(case.name(), entry.name, workers, LAMBDA, lambda);
        results.push(Measurement { details, busy, speed_up: Some(speed_up), ..measurement });
    }
}

/// Formats a number with at most three decimals.
fn brief(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number}") } else { format!("{number:.3}") }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "pools";
    const TITLE: &'static str =
        "Queue policies differ in time per task and in the imbalance λ of the load: less is better.";

    fn describe(&self) -> String {
        let names = self.cases.iter().map(|case| case.name()).collect::<Vec<_>>().join(", ");
        let cores = self.cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let costs = Costs::default();
        format!(
            "pools: {names} · seed {}\n\
            on threads: {} tasks of one spawner · fib of {} · order {} in tiles of {}\n\
            on {cores} virtual cores: fib of {} · {} rows of tiles, {} ns a product, half of that a \
            division, a sixth a factorisation\n{costs:?}\n{}",
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

    fn outline(&self) -> Outline {
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
        let entries = self.lineup.contenders.len();
        let watched = self.cases_in(Mode::Watched).len() * self.lineup.worker_counts().len();
        let simulated = self.cases_in(Mode::Virtual).len() * self.cores.len();
        let turns = self.lineup.worker_counts().len() * self.lineup.repetitions();
        let compared = self.cases_in(Mode::Compared).len() * turns;
        let mut outline = self.lineup.outline(parameters, self.cases_in(Mode::Timed).len());
        outline.steps += ((watched + simulated + compared) * entries) as u64;
        outline
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let mut results = self.time(progress)?;
        self.watch(progress, &mut results)?;
        self.simulate(progress, &mut results)?;
        let cases = self.cases_in(Mode::Compared);
        let names: Vec<_> = cases.iter().map(|case| case.name().to_string()).collect();
        let work = |case: usize| self.work(cases[case], &contenders::NO_REDUCTION);
        results.extend(compared::measure(&self.lineup, progress, &names, self.seed, work)?);
        Ok(results)
    }

    fn notes(&self) -> Vec<String> {
        let smaller = self.lineup.contenders.iter().filter(|entry| entry.more.number > 0);
        let smaller = smaller.map(|entry| {
            let (tasks, number) = (self.tasks / entry.more.tasks, self.number - entry.more.number);
            format!("{} spawned {tasks} tasks and computed Fibonacci number {number}", entry.name)
        });
        let mut notes = self.notes.take();
        if !self.cases_in(Mode::Timed).is_empty() {
            notes.extend(smaller);
        }
        notes
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("ns: wall-clock nanoseconds per task; λ: busy time of the busiest worker ÷ mean − 1; \
        less is better of both\n\
        speed-up: time of a plain sequential program that does the same work without tasks ÷ time with \
        tasks (on virtual cores: the time of the tasks' bodies alone ÷ makespan); more is better\n\
        ÷: time on threads, whose tasks spin, ÷ time on as many virtual cores; ideally 1\n\
        all tasks were counted, all results checked"
            .to_string())
    }
}
