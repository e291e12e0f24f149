//! The experiment: options checked and completed, turns and conclusion.

use super::WavefrontOptions;
use super::contenders::{self, Computer, Entry, PLAIN};
use super::grid::Grid;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters, set_speed_ups};

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    blocks: usize,
    sides: Vec<usize>,
    seed: u64,
    lineup: Lineup<Computer>,
}

/// The rows of blocks, and the rows of cells in a block, that are possible.
const ROWS: RangeInclusive<usize> = 1..=4096;

const UNIT: &str = "ms";

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &WavefrontOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let blocks = options.blocks.unwrap_or(if common.quick { 64 } else { 512 });
        check_range("--blocks", blocks, &ROWS, "")?;
        for &side in &options.side {
            check_range("--side", side, &ROWS, "")?;
        }
        let lineup = Lineup::new(contenders::ALL, &[], common)?;
        Ok(Self { blocks, sides: options.side.clone(), seed: common.seed, lineup })
    }
}

/// Runs one turn, and returns milliseconds.
fn once(
    grid: &Arc<Grid>,
    expected: &[u32],
    entry: &Entry,
    workers: usize,
    context: &str,
) -> Result<f64, Failure> {
    let compute = (entry.start)(workers)?;
    // Warms up threads, caches and the memory of tasks.
    compute(grid);
    settle();
    let began = Instant::now();
    let found = compute(grid);
    let time = began.elapsed();
    if found != expected {
        let wrong = Wrong::new("the last row differs from that of the sequential program".to_string());
        return Err(Failure::Wrong { context: context.to_string(), wrong });
    }
    Ok(time.as_secs_f64() * 1e3)
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "wavefront";
    const TITLE: &'static str =
        "Each runtime takes this many milliseconds for blocks that wait for two others: less is better.";

    fn describe(&self) -> String {
        let sides: Vec<_> = self.sides.iter().map(usize::to_string).collect();
        format!(
            "wavefront: {0} × {0} blocks of {1} × as many cells · seed {2}\n{3}",
            self.blocks,
            sides.join(", "),
            self.seed,
            self.lineup.describe()
        )
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("blocks", self.blocks);
        parameters.add("sides", self.sides.clone());
        parameters.add("seed", self.seed);
        self.lineup.add_to(&mut parameters);
        self.lineup.outline(parameters, self.sides.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let grid = |&side| Arc::new(Grid::random(self.blocks, side, self.seed));
        let grids: Vec<_> = self.sides.iter().map(grid).collect();
        let expected: Vec<_> = grids.iter().map(|grid| grid.plain()).collect();
        let names: Vec<_> = self.sides.iter().map(|side| format!("blocks of {side} × {side}")).collect();
        let once = |case: usize, entry: &Entry, workers, context: &str| {
            once(&grids[case], &expected[case], entry, workers, context)
        };
        let mut results = self.lineup.measure(progress, UNIT, &names, once)?;
        set_speed_ups(&mut results, PLAIN);
        Ok(results)
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("ms: wall-clock milliseconds, less is better; speed-up: time of `plain` ÷ time, more is better; \
        all last rows were checked"
            .to_string())
    }
}
