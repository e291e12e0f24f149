//! The experiment: options checked and completed, turns and conclusion.

use super::CholeskyOptions;
use super::contenders::{self, Entry, Factoriser};
use crate::matrix::tiles::{Lower, bound};
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
    order: usize,
    tiles: Vec<usize>,
    lineup: Lineup<Factoriser>,
    seed: u64,
}

/// The orders of a matrix. The largest one and its factor take 4 GiB.
const ORDERS: RangeInclusive<usize> = 1..=16_384;
/// The maximum number of rows of tiles, which makes 22 million tasks.
const MAX_TILE_ROWS: usize = 512;

const UNIT: &str = "ms";

/// Checks the largest error that a program has found in its product.
fn check_residual(error: f64, order: usize) -> Result<(), Wrong> {
    let bound = bound(order);
    if error > bound {
        return Err(Wrong::new(format!("the product differs by {error}; rounding explains {bound}")));
    }
    Ok(())
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &CholeskyOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let order = options.order.unwrap_or(if common.quick { 256 } else { 1024 });
        check_range("--order", order, &ORDERS, "")?;
        let tiles = options.tiles.clone().unwrap_or_else(|| vec![128, 64, 32, 16]);
        for &tile in &tiles {
            if tile == 0 || !order.is_multiple_of(tile) || order / tile > MAX_TILE_ROWS {
                let text = format!(
                    "--tiles: {tile} is not possible; choose divisors of {order} that give at most \
                    {MAX_TILE_ROWS} rows of tiles"
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

    /// Runs one turn, and returns milliseconds.
    fn once(&self, tile: usize, entry: &Entry, workers: usize, context: &str) -> Result<f64, Failure> {
        let (time, checked) = match (entry.start)(workers)? {
            Contender::Here(run) => {
                let matrix = Lower::random(self.order, tile, self.seed);
                let input = matrix.clone();
                settle();
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

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "cholesky";
    const TITLE: &'static str =
        "Each runtime takes this many milliseconds to factorise a matrix by tiles: less is better.";

    fn describe(&self) -> String {
        let tiles = self.tiles.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let (order, seed) = (self.order, self.seed);
        format!("cholesky of order {order} · tiles {tiles} · seed {seed}\n{}", self.lineup.describe())
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("order", self.order);
        parameters.add("tiles", self.tiles.clone());
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        self.lineup.outline(parameters, self.tiles.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let cases: Vec<_> = self.tiles.iter().map(|tile| format!("tiles of {tile}")).collect();
        let once = |case: usize, entry: &Entry, workers, context: &str| {
            self.once(self.tiles[case], entry, workers, context)
        };
        self.lineup.measure(progress, UNIT, &cases, once)
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("milliseconds: less is better; every factor was multiplied out and compared".to_string())
    }
}
