//! Contenders by name, and their turns with each number of workers.
//!
//! Every repetition runs all contenders one after another, so that other load on the machine
//! affects all of them alike.

use crate::common::Common;
use crate::experiment::Outline;
use crate::failure::Failure;
use crate::machine::pin;
use crate::outside;
use crate::page;
use crate::plural::counted;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::suggestion::take_part;
use std::cell::Cell;
use std::fmt::Display;
use std::thread;
use std::time::Duration;
use xtasking::Runtime;

/// A contender that `--against` can select; starting it with an `Input` gives a `C`.
pub struct Entry<C: 'static, More: 'static = (), Input: 'static = usize> {
    /// The name for `--against` and in results.
    pub name: &'static str,
    /// A one-line explanation for the help text and the figure's legend.
    pub about: &'static str,
    /// Whether it can use more than one worker.
    pub is_parallel: bool,
    /// Starts it; most experiments pass the number of workers.
    pub start: fn(Input) -> Result<C, Failure>,
    /// What else the experiment needs to know about it.
    pub more: More,
}

/// A contender that is a separate program. It runs only if `--against` names it and it has been
/// built.
pub struct Outside<C: 'static, More: 'static = (), Input: 'static = usize> {
    /// The file name of the program.
    pub program: &'static str,
    /// Name, explanation and start function.
    pub entry: Entry<C, More, Input>,
}

/// Returns the help text that lists the names for `--against`.
pub fn help<C, More, Input>(all: &[Entry<C, More, Input>], outside: &[Outside<C, More, Input>]) -> String {
    let mut text = help_with_default(all, |_| false);
    if !outside.is_empty() {
        text.push_str("\n\nSeparate programs; name them in --against, after building them with peers/build:");
        text.extend(outside.iter().map(|outside| help_line(&outside.entry)));
    }
    text
}

/// Returns the help text that lists the names for `--against`, and marks those that run without
/// `--against`.
pub fn help_with_default<C, More, Input>(
    all: &[Entry<C, More, Input>],
    is_default: impl Fn(&Entry<C, More, Input>) -> bool,
) -> String {
    let mut text =
        "Implementations for --against; the first always runs, and ratios are relative to it:".to_string();
    for entry in all {
        text += &help_line(entry);
        if is_default(entry) {
            text.push_str(" [default]");
        }
    }
    text
}

fn help_line<C, More, Input>(entry: &Entry<C, More, Input>) -> String {
    format!("\n  {:<20} {}", entry.name, entry.about)
}

/// Returns true if a contender can run the case of an index with a number of workers.
type CanRun<C, More, Input> = Box<dyn Fn(usize, &Entry<C, More, Input>, usize) -> bool>;

/// The selected contenders, the numbers of workers and the number of repetitions.
pub struct Lineup<C: 'static, More: 'static = (), Input: 'static = usize> {
    /// The selected contenders, the first of which is the baseline of all ratios.
    pub contenders: Vec<&'static Entry<C, More, Input>>,
    worker_counts: Vec<usize>,
    repetitions: usize,
    can_run: CanRun<C, More, Input>,
    /// A line for each selected program that has not been built.
    skipped: Vec<String>,
}

impl<C, More, Input> Lineup<C, More, Input> {
    /// Checks the common options and fills in defaults. Without `--against`, all of `all` run.
    ///
    /// The first of `all` always runs, as the baseline of all ratios. Those in `outside` run only
    /// if `--against` names them.
    ///
    /// # Errors
    ///
    /// If `--against` has an unknown name, a number is out of range, or an output file cannot be
    /// written.
    pub fn new(
        all: &'static [Entry<C, More, Input>],
        outside: &'static [Outside<C, More, Input>],
        common: &Common,
    ) -> Result<Self, Failure> {
        Self::with_default(all, outside, common, |_| true)
    }

    /// Does what [`new`](Self::new) does, but without `--against` runs only the first and those for
    /// which `is_default` returns true.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_default(
        all: &'static [Entry<C, More, Input>],
        outside: &'static [Outside<C, More, Input>],
        common: &Common,
        is_default: impl Fn(&Entry<C, More, Input>) -> bool,
    ) -> Result<Self, Failure> {
        let mut skipped = Vec::new();
        let contenders = match &common.against {
            None => {
                let by_default = all.iter().enumerate().filter(|(at, entry)| *at == 0 || is_default(entry));
                by_default.map(|(_, entry)| entry).collect()
            }
            Some(against) => {
                let names = all.iter().chain(outside.iter().map(|outside| &outside.entry));
                let names: Vec<_> = names.map(|entry| entry.name).collect();
                let indexes = take_part("implementation", &names, against).map_err(Failure::Usage)?;
                let mut contenders = Vec::new();
                for index in indexes {
                    let Some(outside) = index.checked_sub(all.len()).map(|index| &outside[index]) else {
                        contenders.push(&all[index]);
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
        let can_run: CanRun<C, More, Input> = Box::new(|_, entry, workers| workers == 1 || entry.is_parallel);
        Ok(Self { contenders, worker_counts, repetitions, can_run, skipped })
    }

    /// Replaces the rule that says which contenders run a case with a number of workers.
    #[must_use]
    pub fn with_rule(self, can_run: impl Fn(usize, &Entry<C, More, Input>, usize) -> bool + 'static) -> Self {
        Self { can_run: Box::new(can_run), ..self }
    }

    /// Returns the numbers of workers.
    pub fn worker_counts(&self) -> &[usize] {
        &self.worker_counts
    }

    /// Returns the number of repetitions.
    pub fn repetitions(&self) -> usize {
        self.repetitions
    }

    /// Describes the lineup for people: one line, and one for each skipped contender.
    pub fn describe(&self) -> String {
        let names: Vec<_> = self.contenders.iter().map(|entry| entry.name).collect();
        let workers = self.worker_counts.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let repetitions = counted(self.repetitions, "repetition");
        let turns = format!("implementations {} · workers {workers} · {repetitions}", names.join(", "));
        [turns].iter().chain(&self.skipped).map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Returns the contenders' names with their explanations.
    pub fn legend(&self) -> Vec<(String, String)> {
        let of = |entry: &&Entry<C, More, Input>| (entry.name.to_string(), entry.about.to_string());
        self.contenders.iter().map(of).collect()
    }

    /// Returns the outline of a run of a number of cases with these parameters.
    pub fn outline(&self, parameters: Parameters, cases: usize) -> Outline {
        Outline { parameters, legend: self.legend(), steps: self.steps(cases) }
    }

    /// Adds the lineup to the parameters of a report.
    pub fn add_to(&self, parameters: &mut Parameters) {
        parameters.add("workers", self.worker_counts.clone());
        parameters.add("repetitions", self.repetitions);
    }

    /// Returns the turns of one repetition: case, contender and number of workers.
    pub fn repetition(&self, cases: usize) -> Vec<(usize, &'static Entry<C, More, Input>, usize)> {
        let mut turns = Vec::new();
        for case in 0..cases {
            for &workers in &self.worker_counts {
                let can_run = |entry: &&&Entry<C, More, Input>| (self.can_run)(case, entry, workers);
                turns.extend(self.contenders.iter().filter(can_run).map(|&entry| (case, entry, workers)));
            }
        }
        turns
    }

    /// Returns the number of progress steps that [`measure`](Self::measure) takes.
    pub fn steps(&self, cases: usize) -> u64 {
        (self.repetition(cases).len() * self.repetitions) as u64
    }

    /// Measures all contenders in turn. `once` takes the index of a case, a contender, a number of
    /// workers, and the context to put into a [`Failure::Wrong`]; it returns one measurement in
    /// `unit`.
    ///
    /// # Errors
    ///
    /// The first error of `once`.
    pub fn measure(
        &self,
        progress: &Progress,
        unit: &'static str,
        cases: &[String],
        once: impl Fn(usize, &Entry<C, More, Input>, usize, &str) -> Result<f64, Failure>,
    ) -> Result<Vec<Measurement>, Failure> {
        let mut turns = self.turns(progress, unit, cases);
        for _ in 0..self.repetitions {
            for (case, entry, workers) in self.repetition(cases.len()) {
                turns.turn(case, entry, workers, |context| once(case, entry, workers, context).map(Some))?;
            }
        }
        Ok(turns.measurements())
    }

    /// Starts turns in an order that the experiment chooses; [`measure`](Self::measure) runs them
    /// in the order of [`repetition`](Self::repetition).
    pub fn turns<'a>(&'a self, progress: &'a Progress, unit: &'static str, cases: &'a [String]) -> Turns<'a> {
        let names = self.contenders.iter().map(|entry| entry.name).collect();
        Turns { progress, unit, cases, names, worker_counts: &self.worker_counts, samples: Vec::new() }
    }
}

/// The turns of an experiment: reports each as progress, and collects the measurements.
pub struct Turns<'a> {
    progress: &'a Progress,
    unit: &'static str,
    cases: &'a [String],
    names: Vec<&'static str>,
    worker_counts: &'a [usize],
    samples: Vec<Sample>,
}

/// One measurement of one repetition.
struct Sample {
    case: usize,
    workers: usize,
    name: &'static str,
    number: f64,
}

impl Turns<'_> {
    /// Runs one turn. `once` takes the context to put into a [`Failure::Wrong`], and returns the
    /// measurement, or `None` if this turn only prepares others.
    ///
    /// # Errors
    ///
    /// The error of `once`.
    pub fn turn<C, More, Input>(
        &mut self,
        case: usize,
        entry: &Entry<C, More, Input>,
        workers: usize,
        once: impl FnOnce(&str) -> Result<Option<f64>, Failure>,
    ) -> Result<(), Failure> {
        let context = format!("{} on {} with {}", entry.name, self.cases[case], counted(workers, "worker"));
        self.progress.begin(context.clone());
        if let Some(number) = once(&context)? {
            self.progress.show_measurement(&context, number, self.unit);
            self.samples.push(Sample { case, workers, name: entry.name, number });
        }
        self.progress.advance();
        Ok(())
    }

    /// Skips one turn: counts it as progress without a measurement.
    pub fn skip(&self) {
        self.progress.advance();
    }

    /// Returns the measurements by case, workers and contender, each with all its repetitions.
    pub fn measurements(self) -> Vec<Measurement> {
        let mut measurements = Vec::new();
        for (case, case_name) in self.cases.iter().enumerate() {
            for &workers in self.worker_counts {
                for &name in &self.names {
                    let is_of_this = |sample: &&Sample| {
                        (sample.case, sample.workers, sample.name) == (case, workers, name)
                    };
                    let samples = self.samples.iter().filter(is_of_this);
                    let numbers: Vec<_> = samples.map(|sample| sample.number).collect();
                    if !numbers.is_empty() {
                        measurements.push(Measurement::new(case_name, name, workers, self.unit, numbers));
                    }
                }
            }
        }
        measurements
    }
}

/// Returns the usage error for a runtime that cannot start a number of workers.
pub fn cannot_start(name: &str, workers: usize, error: &dyn Display) -> Failure {
    Failure::Usage(format!("--workers: {name} cannot start {workers} workers: {error}"))
}

/// Starts XTasking's runtime.
///
/// # Errors
///
/// If it cannot start that many workers.
pub fn start_own(workers: usize) -> Result<Runtime, Failure> {
    page::start(Runtime::builder().workers(workers))
        .map_err(|error| cannot_start("xtasking", workers, &error))
}

/// Starts a pool of rayon, its threads pinned like the workers of XTasking.
///
/// # Errors
///
/// If it cannot start that many threads.
pub fn start_rayon(workers: usize) -> Result<rayon::ThreadPool, Failure> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(workers);
    let builder = builder.start_handler(move |index| pin(index, workers));
    builder.build().map_err(|error| cannot_start("rayon", workers, &error))
}

/// Starts a runtime of tokio, its threads pinned like the workers of XTasking.
///
/// # Errors
///
/// If it cannot start that many threads.
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

/// Lets the idle workers of any runtime park, as they would if nothing had been spawned for a
/// while.
///
/// A measurement then includes waking them, for every contender alike.
pub fn settle() {
    thread::sleep(Duration::from_millis(2));
}

thread_local! {
    /// The index of this thread among the workers of tokio.
    static TOKIO_WORKER: Cell<usize> = const { Cell::new(0) };
}

/// Returns the index of the calling thread among the workers of tokio; 0 on other threads.
pub fn tokio_worker() -> usize {
    TOKIO_WORKER.get()
}
