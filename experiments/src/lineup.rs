//! Contenders that do the same with some numbers of workers: who takes part, and the turns that they take. In every
//! repetition all of them run one after another, so that whatever else the machine is doing meets them all alike.

use crate::cli::Common;
use crate::failure::Failure;
use crate::machine::pin;
use crate::outside;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::suggestion::take_part;
use std::cell::Cell;
use std::fmt::Display;
use xtasking::Runtime;

/// A contender that can be asked for by name; started, it is a `C`. An experiment may have to know more of it.
pub struct Entry<C: 'static, More: 'static = ()> {
    /// The name for `--against` and in results.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Whether it can use several workers.
    pub is_parallel: bool,
    /// Starts it with a number of workers.
    pub start: fn(usize) -> Result<C, Failure>,
    /// What else the experiment knows.
    pub more: More,
}

/// A contender that is a program of its own. It takes part only where it is asked for, and only if it is there.
pub struct Outside<C: 'static, More: 'static = ()> {
    /// The name of the program.
    pub program: &'static str,
    /// Everything else.
    pub entry: Entry<C, More>,
}

/// The names for `--against`, for the command line's help.
pub fn help<C, More>(all: &[Entry<C, More>], outside: &[Outside<C, More>]) -> String {
    let line = |entry: &Entry<C, More>| format!("\n  {:<20} {}", entry.name, entry.about);
    let mut text = "Implementations, of which the first always takes part:".to_string();
    text.extend(all.iter().map(line));
    if !outside.is_empty() {
        text.push_str("\n\nOnly if asked for, and only if peers/build has built them:");
        text.extend(outside.iter().map(|outside| line(&outside.entry)));
    }
    text
}

/// Who takes part, with how many workers, and how often.
pub struct Lineup<C: 'static, More: 'static = ()> {
    /// Those that take part.
    pub contenders: Vec<&'static Entry<C, More>>,
    worker_counts: Vec<usize>,
    repetitions: usize,
    /// A line for each that was asked for and is not there.
    skipped: Vec<String>,
}

/// All repetitions of one contender in one case.
struct Row<C: 'static, More: 'static> {
    case: usize,
    entry: &'static Entry<C, More>,
    workers: usize,
    numbers: Vec<f64>,
}

impl<C, More> Lineup<C, More> {
    /// Checks and completes the common options. The first of `all` always takes part, and ratios are those to it. Those
    /// `outside` take part only if they are asked for.
    pub fn new(
        all: &'static [Entry<C, More>],
        outside: &'static [Outside<C, More>],
        common: &Common,
    ) -> Result<Self, Failure> {
        let mut skipped = Vec::new();
        let contenders = match &common.against {
            None => all.iter().collect(),
            Some(against) => {
                let names = all.iter().chain(outside.iter().map(|outside| &outside.entry));
                let names: Vec<_> = names.map(|entry| entry.name).collect();
                let places = take_part("implementation", &names, against).map_err(Failure::Usage)?;
                let mut contenders = Vec::new();
                for place in places {
                    let Some(outside) = place.checked_sub(all.len()).map(|place| &outside[place]) else {
                        contenders.push(&all[place]);
                        continue;
                    };
                    match outside::find(outside.program) {
                        Ok(_) => contenders.push(&outside.entry),
                        Err(missing) => skipped.push(format!("skipped {}: {missing}", outside.entry.name)),
                    }
                }
                contenders
            }
        };
        let (worker_counts, repetitions) = (common.worker_counts()?, common.repetition_count()?);
        common.check_outputs()?;
        Ok(Self { contenders, worker_counts, repetitions, skipped })
    }

    /// With how many workers.
    pub fn worker_counts(&self) -> &[usize] {
        &self.worker_counts
    }

    /// A line for people, and one for each that was skipped.
    pub fn describe(&self) -> String {
        let names: Vec<_> = self.contenders.iter().map(|entry| entry.name).collect();
        let turns =
            crate::experiment::turns("implementations", &names, &self.worker_counts, self.repetitions);
        [turns].iter().chain(&self.skipped).map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// What programs are told.
    pub fn add_to(&self, parameters: &mut Parameters) {
        parameters.add("workers", self.worker_counts.clone());
        parameters.add("repetitions", self.repetitions);
    }

    fn rows(&self, cases: usize) -> Vec<Row<C, More>> {
        let mut rows = Vec::new();
        for case in 0..cases {
            for &workers in &self.worker_counts {
                for &entry in self.contenders.iter().filter(|entry| workers == 1 || entry.is_parallel) {
                    rows.push(Row { case, entry, workers, numbers: Vec::new() });
                }
            }
        }
        rows
    }

    /// How many steps of progress there are.
    pub fn steps(&self, cases: usize) -> u64 {
        (self.rows(cases).len() * self.repetitions) as u64
    }

    /// Has everybody take turns. `once` measures one contender in a case, given by its place in `cases`, with a number of
    /// workers; a wrong result is reported in that context.
    pub fn measure(
        &self,
        progress: &Progress,
        unit: &'static str,
        cases: &[String],
        once: impl Fn(usize, &Entry<C, More>, usize, &str) -> Result<f64, Failure>,
    ) -> Result<Vec<Measurement>, Failure> {
        let mut rows = self.rows(cases.len());
        for _ in 0..self.repetitions {
            for row in &mut rows {
                let noun = if row.workers == 1 { "worker" } else { "workers" };
                let context =
                    format!("{} on {} with {} {noun}", row.entry.name, cases[row.case], row.workers);
                progress.begin(context.clone());
                let number = once(row.case, row.entry, row.workers, &context)?;
                progress.measured(&context, number, unit);
                row.numbers.push(number);
                progress.advance();
            }
        }
        let measurement = |row: Row<C, More>| {
            Measurement::new(cases[row.case].clone(), row.entry.name, row.workers, unit, row.numbers)
        };
        Ok(rows.into_iter().map(measurement).collect())
    }
}

/// Says that somebody does not start.
pub fn cannot_start(name: &str, workers: usize, error: &dyn Display) -> Failure {
    Failure::Usage(format!("--workers: {name} cannot start {workers} workers: {error}"))
}

/// This runtime.
pub fn start_own(workers: usize) -> Result<Runtime, Failure> {
    Runtime::builder().workers(workers).build().map_err(|error| cannot_start("xtasking", workers, &error))
}

/// Rayon's pool, pinned as this runtime is.
pub fn start_rayon(workers: usize) -> Result<rayon::ThreadPool, Failure> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(workers);
    let builder = builder.start_handler(move |index| pin(index, workers));
    builder.build().map_err(|error| cannot_start("rayon", workers, &error))
}

/// Tokio's runtime, pinned as this one is.
pub fn start_tokio(workers: usize) -> Result<tokio::runtime::Runtime, Failure> {
    let index = std::sync::atomic::AtomicUsize::new(0);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(workers);
    builder.on_thread_start(move || {
        let index = index.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        TOKIO_WORKER.set(index);
        pin(index, workers);
    });
    builder.build().map_err(|error| cannot_start("tokio", workers, &error))
}

thread_local! {
    static TOKIO_WORKER: Cell<usize> = const { Cell::new(0) };
}

/// The number of the worker of tokio's that calls this.
pub fn tokio_worker() -> usize {
    TOKIO_WORKER.get()
}
