//! The options, checked and completed, and what one turn is.

use super::Options;
use super::contenders::{self, Entry, Fibonacci, Less};
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::outside::Contender;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use std::thread;
use std::time::{Duration, Instant};

/// An experiment that can be run.
pub(super) struct Experiment {
    number: u32,
    lineup: Lineup<Fibonacci, Less>,
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

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        let number = options.number.unwrap_or(if common.quick { 25 } else { 35 });
        if !(LEAST..=GREATEST).contains(&number) {
            return Err(Failure::Usage(format!("--number is {number}; choose {LEAST} to {GREATEST}")));
        }
        Ok(Self { number, lineup: Lineup::new(contenders::ALL, contenders::OUTSIDE, common)? })
    }

    /// One turn: nanoseconds a join.
    fn once(&self, entry: &Entry, workers: usize, context: &str) -> Result<f64, Failure> {
        let number = self.number - entry.more.0;
        let (time, found) = match (entry.start)(workers)? {
            Contender::Here(run) => {
                // Threads start, caches and stacks are touched.
                run(number.min(15));
                // Idle workers sleep, as they would where nobody has forked for a while.
                thread::sleep(Duration::from_millis(2));
                let began = Instant::now();
                let found = run(number);
                (began.elapsed(), found)
            }
            Contender::Outside(program) => {
                let outcome = program.run(&[number.into()], context)?;
                (outcome.time, outcome.result)
            }
        };
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
        format!("fib of {} · {} joins\n{}", self.number, joins(self.number), self.lineup.describe())
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("number", self.number);
        self.lineup.add_to(&mut parameters);
        parameters
    }

    fn steps(&self) -> u64 {
        self.lineup.steps(1)
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let once = |_, entry: &Entry, workers, context: &str| self.once(entry, workers, context);
        self.lineup.measure(progress, UNIT, &["fork and join".to_string()], once)
    }

    fn notes(&self) -> Vec<String> {
        let smaller = self.lineup.contenders.iter().filter(|entry| entry.more.0 > 0);
        smaller
            .map(|entry| format!("{} computed number {}", entry.name, self.number - entry.more.0))
            .collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("nanoseconds a join, of the clock on the wall: less is better; all numbers were checked"
            .to_string())
    }
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
