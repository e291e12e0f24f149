//! The options, checked and completed, and the turns: in every repetition all contenders take the same matrix apart, one
//! after another, so that whatever else the machine is doing meets them all alike.

use super::Options;
use super::contenders::{self, Entry};
use super::tiles::Lower;
use crate::experiment::turns;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters, Summary};
use crate::suggestion::take_part;
use std::thread;
use std::time::{Duration, Instant};

/// An experiment that can be run.
pub(super) struct Experiment {
    order: usize,
    tiles: Vec<usize>,
    contenders: Vec<&'static Entry>,
    worker_counts: Vec<usize>,
    repetitions: usize,
    seed: u64,
}

/// A matrix of this order and its result take 4 GiB.
const GREATEST: usize = 16_384;
/// So many rows of tiles are 30 million tasks.
const MOST_ROWS: usize = 512;

const UNIT: &str = "ms";

/// All repetitions of one contender with one kind of tiles.
struct Row {
    tile: usize,
    entry: &'static Entry,
    workers: usize,
    milliseconds: Vec<f64>,
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
        let names: Vec<_> = contenders::ALL.iter().map(|entry| entry.name).collect();
        let contenders = match &common.against {
            None => contenders::ALL.iter().collect(),
            Some(against) => {
                let places = take_part("implementation", &names, against).map_err(Failure::Usage)?;
                places.into_iter().map(|place| &contenders::ALL[place]).collect()
            }
        };
        let (worker_counts, repetitions) = (common.worker_counts()?, common.repetition_count()?);
        common.check_outputs()?;
        Ok(Self { order, tiles, contenders, worker_counts, repetitions, seed: common.seed })
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for &tile in &self.tiles {
            for &workers in &self.worker_counts {
                for &entry in self.contenders.iter().filter(|entry| workers == 1 || entry.is_parallel) {
                    rows.push(Row { tile, entry, workers, milliseconds: Vec::new() });
                }
            }
        }
        rows
    }

    /// One turn: milliseconds.
    fn once(&self, row: &Row, context: &str) -> Result<f64, Failure> {
        let run = (row.entry.start)(row.workers)?;
        let matrix = Lower::random(self.order, row.tile, self.seed);
        let input = matrix.clone();
        // Threads start; idle ones fall asleep.
        thread::sleep(Duration::from_millis(2));
        let began = Instant::now();
        let factor = run(input);
        let time = began.elapsed();
        factor.check(&matrix).map_err(|wrong| Failure::Wrong { context: context.to_string(), wrong })?;
        Ok(time.as_secs_f64() * 1e3)
    }
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "cholesky";

    fn describe(&self) -> String {
        let names: Vec<_> = self.contenders.iter().map(|entry| entry.name).collect();
        let turns = turns("implementations", &names, &self.worker_counts, self.repetitions);
        let tiles = self.tiles.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        format!("cholesky of order {} · tiles {tiles} · seed {}\n{turns}", self.order, self.seed)
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("order", self.order);
        parameters.add("tiles", self.tiles.clone());
        parameters.add("workers", self.worker_counts.clone());
        parameters.add("repetitions", self.repetitions);
        parameters.add("seed", self.seed);
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
                let context =
                    format!("{} on tiles of {} with {} {noun}", row.entry.name, row.tile, row.workers);
                progress.begin(context.clone());
                let milliseconds = self.once(row, &context)?;
                progress.measured(&context, milliseconds, UNIT);
                row.milliseconds.push(milliseconds);
                progress.advance();
            }
        }
        let measurement = |row: Row| Measurement {
            case: format!("tiles of {}", row.tile),
            implementation: row.entry.name.to_string(),
            workers: row.workers,
            unit: UNIT,
            summary: Summary::of(row.milliseconds),
            checked: true,
        };
        Ok(rows.into_iter().map(measurement).collect())
    }

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("milliseconds: less is better; every factor was multiplied out and compared".to_string())
    }
}
