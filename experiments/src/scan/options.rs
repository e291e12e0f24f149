//! The command line of the experiment.

use super::contenders;
use super::requests::Mix;
use crate::cli::{Common, parse_count};
use crate::failure::Failure;
use crate::lineup::help;
use clap::Args;
use std::ops::RangeInclusive;

/// Batches of requests for airline bookings, in requests a second: what one scan for all of a batch's requests gives, and
/// where an index is better.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, contenders::OUTSIDE))]
pub struct Options {
    /// Rows of the table [default: 2M; with --quick, 100k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub rows: Option<u64>,

    /// Requests of a batch, the changes included [default: 1,16,128,512,1024,2048,4096; with --quick, 16,256,4096]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub batch: Option<Vec<usize>>,

    /// One request in so many is a change: a booking comes, goes, or is changed. With 0, none is
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub updates: usize,

    /// What is asked for [default: all of them; with --quick, mixed]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub mix: Option<Vec<Mix>>,

    /// Batches of a turn [default: 8; with --quick, 2]; up to 16 times as many where they are small
    #[arg(long, value_name = "N")]
    pub batches: Option<usize>,

    /// Measure what so many processes take from the batches that want all of the last worker's CPU, by how the table is
    /// divided: naive, exclude, weighted or adaptive, which --against names. With the greatest of --workers, one size of
    /// batch [default: 4096] and one mix; --batches is 40 unless told otherwise
    #[arg(long, value_name = "N")]
    pub competitors: Option<usize>,

    /// Measure how long single queries take that are handed in at a steady rate, in percent of how many can be answered. With
    /// the greatest of --workers, and one mix; --batch is the most that are answered together
    #[arg(long, value_name = "PERCENT", conflicts_with = "competitors")]
    pub load: Option<u64>,

    /// Show on which node each partition's worker runs and on which nodes its memory is, after loading and after rows have
    /// moved between partitions. With the greatest of --workers; only where Linux tells it
    #[arg(long, conflicts_with_all = ["competitors", "load"])]
    pub pages: bool,

    /// With --load, the milliseconds within which an answer is promised: queries for which that cannot be kept are refused
    #[arg(long, value_name = "MS", default_value_t = 500, requires = "load")]
    pub promise: u64,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}

/// Fewer have no bookings of some kinds, and more do not fit into the memory of most machines.
const ROWS: RangeInclusive<u64> = 1_000..=100_000_000;
/// Requests of a batch.
const MOST: usize = 1 << 16;

impl Options {
    /// How many rows the table has.
    pub(super) fn row_count(&self) -> Result<u64, Failure> {
        let rows = self.rows.unwrap_or(if self.common.quick { 100_000 } else { 2_000_000 });
        if ROWS.contains(&rows) {
            return Ok(rows);
        }
        Err(Failure::Usage(format!("--rows is {rows}; choose {} to {}", ROWS.start(), ROWS.end())))
    }

    /// Checks the requests of a batch.
    pub(super) fn check_size(&self, requests: usize) -> Result<(), Failure> {
        if (1..=MOST).contains(&requests) {
            return Ok(());
        }
        Err(Failure::Usage(format!("--batch is {requests}; choose 1 to {MOST}")))
    }
}
