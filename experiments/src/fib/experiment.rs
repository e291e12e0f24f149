//! The experiment: options checked and completed, turns, notes and conclusion.

use super::FibOptions;
use super::contenders::{self, Entry, Fibonacci, NumberReduction};
use super::number::{fibonacci, joins};
use std::ops::RangeInclusive;
use std::time::Instant;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::outside::Contender;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    number: u32,
    lineup: Lineup<Fibonacci, NumberReduction>,
}

/// The numbers that can be computed: at least the largest reduction, and at most what takes
/// minutes.
const NUMBERS: RangeInclusive<u32> = 22..=45;

const UNIT: &str = "ns";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &FibOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let number = options.number.unwrap_or(if common.quick { 25 } else { 35 });
        check_range("--number", number, &NUMBERS, "")?;
        Ok(Self { number, lineup: Lineup::new(contenders::ALL, contenders::OUTSIDE, common)? })
    }

    /// Runs one turn, and returns nanoseconds per join.
    fn once(&self, entry: &Entry, workers: usize, context: &str) -> Result<f64, Failure> {
        let number = self.number - entry.more.0;
        let (time, found) = match (entry.start)(workers)? {
            Contender::Here(run) => {
                // Warms up threads, caches and stacks.
                run(number.min(15));
                settle();
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

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "fib";
    const TITLE: &'static str = "Each runtime takes this many nanoseconds per fork and join: less is better.";

    fn describe(&self) -> String {
        format!("fib of {} · {} joins\n{}", self.number, joins(self.number), self.lineup.describe())
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("number", self.number);
        self.lineup.add_to(&mut parameters);
        self.lineup.outline(parameters, 1)
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let once = |_, entry: &Entry, workers, context: &str| self.once(entry, workers, context);
        self.lineup.measure(progress, UNIT, &["fork and join".to_string()], once)
    }

    fn notes(&self) -> Vec<String> {
        let smaller = self.lineup.contenders.iter().filter(|entry| entry.more.0 > 0);
        smaller
            .map(|entry| format!("{} computed Fibonacci number {}", entry.name, self.number - entry.more.0))
            .collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("ns: wall-clock nanoseconds per join, less is better; all numbers were checked".to_string())
    }
}
