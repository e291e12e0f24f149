//! The experiment: options checked and completed, turns and conclusion.

use super::DivideOptions;
use super::contenders::{self, Divider, Entry};
use super::shape::Shape;
use crate::piece::{compute, steps_per_microsecond};
use std::ops::RangeInclusive;
use std::time::Instant;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    total: u32,
    pieces: Vec<u32>,
    lineup: Lineup<Divider>,
}

/// What is measured in one turn.
struct Case {
    shape: Shape,
    pieces: u32,
    /// Steps of each piece.
    steps: u64,
}

/// The totals that are possible, in milliseconds.
const TOTALS: RangeInclusive<u32> = 1..=10_000;
/// The numbers of pieces that are possible.
const PIECES: RangeInclusive<u32> = 1..=100_000;

const UNIT: &str = "ms";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &DivideOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let total = options.total.unwrap_or(if common.quick { 10 } else { 100 });
        check_range("--total", total, &TOTALS, "")?;
        let pieces = if options.pieces.is_empty() { vec![8, 64, 5000] } else { options.pieces.clone() };
        for &pieces in &pieces {
            check_range("--pieces", pieces, &PIECES, "")?;
        }
        Ok(Self { total, pieces, lineup: Lineup::new(contenders::ALL, &[], common)? })
    }

    /// Returns the cases: each number of pieces in each shape.
    fn cases(&self) -> impl Iterator<Item = (Shape, u32)> {
        self.pieces.iter().flat_map(|&pieces| Shape::ALL.map(|shape| (shape, pieces)))
    }
}

/// Runs one turn, and returns milliseconds.
fn once(case: &Case, entry: &Entry, workers: usize, context: &str) -> Result<f64, Failure> {
    let divide = (entry.start)(workers)?;
    // Warms up threads, and stacks where joins are nested deep.
    divide(case.shape, case.pieces, 1);
    settle();
    let began = Instant::now();
    let found = divide(case.shape, case.pieces, case.steps);
    let time = began.elapsed();
    let expected = compute(case.steps).wrapping_mul(case.pieces.into());
    if found != expected {
        let wrong = Wrong::new(format!("the pieces' sum is {found} instead of {expected}"));
        return Err(Failure::Wrong { context: context.to_string(), wrong });
    }
    Ok(time.as_secs_f64() * 1e3)
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "divide";
    const TITLE: &'static str =
        "Each runtime takes this many milliseconds for work in long pieces: less is better.";

    fn describe(&self) -> String {
        let counts: Vec<_> = self.pieces.iter().map(u32::to_string).collect();
        format!(
            "divide {} ms of work into {} pieces\n{}",
            self.total,
            counts.join(", "),
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("total", self.total);
        self.lineup.add_to(&mut parameters);
        self.lineup.outline(parameters, self.cases().count())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let steps = steps_per_microsecond() * f64::from(self.total) * 1e3;
        let case = |(shape, pieces)| Case { shape, pieces, steps: (steps / f64::from(pieces)) as u64 };
        let cases: Vec<_> = self.cases().map(case).collect();
        let names: Vec<_> =
            cases.iter().map(|case| format!("{} pieces, {}", case.pieces, case.shape.name())).collect();
        let once =
            |case: usize, entry: &Entry, workers, context: &str| once(&cases[case], entry, workers, context);
        self.lineup.measure(progress, UNIT, &names, once)
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok(format!(
            "ms: wall-clock milliseconds, less is better; ideally `plain` divided by the workers; {} ms of \
             work as a core takes it at its best; all sums were checked",
            self.total
        ))
    }
}
