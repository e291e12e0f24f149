//! The options, checked and completed, and what one turn is.

use super::Options;
use super::contenders::{self, Entry, Factoriser};
use super::tiles::{Lower, bound};
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
    order: usize,
    tiles: Vec<usize>,
    lineup: Lineup<Factoriser>,
    seed: u64,
}

/// A matrix of this order and its result take 4 GiB.
const GREATEST: usize = 16_384;
/// So many rows of tiles are 30 million tasks.
const MOST_ROWS: usize = 512;

const UNIT: &str = "ms";

/// Checks by how much the product of a program's factor differs; it says a great number where there is none.
fn check_residual(off: f64, order: usize) -> Result<(), Wrong> {
    let bound = bound(order);
    if off > bound {
        return Err(Wrong::new(format!("the product differs by {off}; rounding explains {bound}")));
    }
    Ok(())
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        let order = options.order.unwrap_or(if common.quick { 256 } else { 1024 });
        if !(1..=GREATEST).contains(&order) {
            return Err(Failure::Usage(format!("--order is {order}; choose 1 to {GREATEST}")));
        }
        let tiles = options.tiles.clone().unwrap_or_else(|| vec![128, 64, 32, 16]);
        for &tile in &tiles {
            if tile == 0 || !order.is_multiple_of(tile) || order / tile > MOST_ROWS {
                let text = format!(
                    "--tiles: {tile} does not do; choose divisors of {order} that make at most {MOST_ROWS} rows"
                );
                return Err(Failure::Usage(text));
            }
        }
        Ok(Self {
            order,
            tiles,
            lineup: Lineup::new(contenders::ALL, contenders::OUTSIDE, common)?,
            seed: common.seed,
        })
    }

    /// One turn: milliseconds.
    fn once(&self, tile: usize, entry: &Entry, workers: usize, context: &str) -> Result<f64, Failure> {
        let (time, checked) = match (entry.start)(workers)? {
            Contender::Here(run) => {
                let matrix = Lower::random(self.order, tile, self.seed);
                let input = matrix.clone();
                // Threads start; idle ones fall asleep.
                thread::sleep(Duration::from_millis(2));
                let began = Instant::now();
                let factor = run(input);
                (began.elapsed(), factor.check(&matrix))
            }
            Contender::Outside(program) => {
                let outcome = program.run(&[self.order as u64, tile as u64, self.seed], context)?;
                (outcome.time, check_residual(outcome.result, self.order))
            }
        };
        checked.map_err(|wrong| Failure::Wrong { context: context.to_string(), wrong })?;
        Ok(time.as_secs_f64() * 1e3)
    }
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "cholesky";

    fn describe(&self) -> String {
        let tiles = self.tiles.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let (order, seed) = (self.order, self.seed);
        format!("cholesky of order {order} · tiles {tiles} · seed {seed}\n{}", self.lineup.describe())
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("order", self.order);
        parameters.add("tiles", self.tiles.clone());
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        parameters
    }

    fn steps(&self) -> u64 {
        self.lineup.steps(self.tiles.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let cases: Vec<_> = self.tiles.iter().map(|tile| format!("tiles of {tile}")).collect();
        let once = |case: usize, entry: &Entry, workers, context: &str| {
            self.once(self.tiles[case], entry, workers, context)
        };
        self.lineup.measure(progress, UNIT, &cases, once)
    }

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("milliseconds: less is better; every factor was multiplied out and compared".to_string())
    }
}
