//! The options, checked and completed, and the turns: in every repetition all contenders compute one after another, so
//! that whatever else the machine is doing meets them all alike.

use super::Options;
use super::contenders::{self, Entry, Fibonacci};
use crate::experiment::turns;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters, Summary};
use crate::suggestion::take_part;
use crate::ycsb::plan::Wrong;
use std::thread;
use std::time::{Duration, Instant};

/// An experiment that can be run.
pub(super) struct Experiment {
    number: u32,
    contenders: Vec<&'static Entry>,
    worker_counts: Vec<usize>,
    repetitions: usize,
}

/// There are no more levels than joins that can be offered, and nobody waits that long.
const GREATEST: u32 = 45;
/// Enough for those whose number is smaller by most.
const LEAST: u32 = 22;

const UNIT: &str = "ns";

/// A Fibonacci number, by addition.
fn fibonacci(n: u32) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// How many joins computing one takes: one for each call that is not at the bottom.
fn joins(n: u32) -> u64 {
    fibonacci(n + 1) - 1
}

/// What runs with a number of workers, and how long it took.
struct Row {
    entry: &'static Entry,
    workers: usize,
    nanoseconds: Vec<f64>,
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        let number = options.number.unwrap_or(if common.quick { 25 } else { 35 });
        if !(LEAST..=GREATEST).contains(&number) {
            return Err(Failure::Usage(format!("--number is {number}; choose {LEAST} to {GREATEST}")));
        }
        let experiment = Self {
            number,
            contenders: select(common.against.as_deref()).map_err(Failure::Usage)?,
            worker_counts: common.worker_counts()?,
            repetitions: common.repetition_count()?,
        };
        common.check_outputs()?;
        Ok(experiment)
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for &workers in &self.worker_counts {
            for &entry in &self.contenders {
                if workers == 1 || entry.is_parallel {
                    rows.push(Row { entry, workers, nanoseconds: Vec::new() });
                }
            }
        }
        rows
    }

    /// One turn: nanoseconds a join.
    fn once(&self, row: &Row, context: &str) -> Result<f64, Failure> {
        let number = self.number - row.entry.less;
        let run: Fibonacci = (row.entry.start)(row.workers)?;
        // Threads start, caches and stacks are touched.
        run(number.min(15));
        // Idle workers sleep, as they would where nobody has forked for a while.
        thread::sleep(Duration::from_millis(2));
        let began = Instant::now();
        let found = run(number);
        let time = began.elapsed();
        if found != fibonacci(number) {
            let wrong =
                Wrong::new(format!("Fibonacci number {number}: {found} instead of {}", fibonacci(number)));
            return Err(Failure::Wrong { context: context.to_string(), wrong });
        }
        Ok(time.as_secs_f64() * 1e9 / joins(number) as f64)
    }
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "fib";

    fn describe(&self) -> String {
        let names: Vec<_> = self.contenders.iter().map(|entry| entry.name).collect();
        let turns = turns("implementations", &names, &self.worker_counts, self.repetitions);
        format!("fib of {} · {} joins\n{turns}", self.number, joins(self.number))
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("number", self.number);
        parameters.add("workers", self.worker_counts.clone());
        parameters.add("repetitions", self.repetitions);
        parameters
    }

    fn steps(&self) -> u64 {
        (self.rows().len() * self.repetitions) as u64
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let mut rows = self.rows();
        for _ in 0..self.repetitions {
            for row in &mut rows {
                let noun = if row.workers == 1 { "worker" } else { "workers" };
                let context = format!("{} with {} {noun}", row.entry.name, row.workers);
                progress.begin(context.clone());
                let nanoseconds = self.once(row, &context)?;
                progress.measured(&context, nanoseconds, UNIT);
                row.nanoseconds.push(nanoseconds);
                progress.advance();
            }
        }
        let measurement = |row: Row| Measurement {
            case: "fork and join".to_string(),
            implementation: row.entry.name.to_string(),
            workers: row.workers,
            unit: UNIT,
            summary: Summary::of(row.nanoseconds),
            checked: true,
        };
        Ok(rows.into_iter().map(measurement).collect())
    }

    fn notes(&self) -> Vec<String> {
        let smaller = self.contenders.iter().filter(|entry| entry.less > 0);
        smaller.map(|entry| format!("{} computed number {}", entry.name, self.number - entry.less)).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("nanoseconds a join, of the clock on the wall: less is better; all numbers were checked"
            .to_string())
    }
}

/// Those that take part: the first, and those asked for, in their order; nothing asked for means all.
fn select(against: Option<&[String]>) -> Result<Vec<&'static Entry>, String> {
    let Some(against) = against else { return Ok(contenders::ALL.iter().collect()) };
    let names: Vec<_> = contenders::ALL.iter().map(|entry| entry.name).collect();
    let places = take_part("implementation", &names, against)?;
    Ok(places.into_iter().map(|place| &contenders::ALL[place]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_their_joins() {
        assert_eq!((fibonacci(0), fibonacci(1), fibonacci(10), fibonacci(35)), (0, 1, 55, 9_227_465));
        fn count(n: u32) -> u64 {
            if n < 2 { 0 } else { 1 + count(n - 1) + count(n - 2) }
        }
        assert!((0..20).all(|n| joins(n) == count(n)));
    }
}
