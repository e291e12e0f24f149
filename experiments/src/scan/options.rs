//! Defines the command line of the experiment.

use super::contenders;
use super::requests::QueryMix;
use clap::Args;
use std::ops::RangeInclusive;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::help;

/// Measure batches of requests for airline bookings, in requests a second: one scan for all
/// requests of a batch, against indexes and databases.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, contenders::OUTSIDE))]
pub struct ScanOptions {
    /// Rows of the table [default: 2M; with --quick, 100k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub rows: Option<u64>,

    /// Requests of a batch, including changes [default: 1,16,128,512,1024,2048,4096; with --quick,
    /// 16,256,4096]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub batch: Option<Vec<usize>>,

    /// One request in N inserts, deletes or changes a booking; 0 for none
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub updates: usize,

    /// Mixes of queries [default: all of them; with --quick, mixed]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub mix: Option<Vec<QueryMix>>,

    /// Batches of a turn; up to 16 times as many where they are small [default: 8; with --quick, 2]
    #[arg(long, value_name = "N")]
    pub batches: Option<usize>,

    /// Measure the loss of throughput when N processes compete for the last worker's CPU, by
    /// deployment (--against): naive, exclude, weighted or adaptive. Uses the greatest of
    /// --workers, one size of batch [default: 4096] and one mix; --batches is 40 by default
    #[arg(long, value_name = "N")]
    pub competitors: Option<usize>,

    /// Measure the latency of single queries submitted at a steady rate, in percent of capacity.
    /// Uses the greatest of --workers, and one mix; --batch is the maximal number of queries
    /// answered together
    #[arg(long, value_name = "PERCENT", conflicts_with = "competitors")]
    pub load: Option<u64>,

    /// Show on which node each partition's worker runs and on which nodes its memory is, after
    /// loading and after rows have moved between partitions. Uses the greatest of --workers; Linux
    /// only
    #[arg(long, conflicts_with_all = ["competitors", "load"])]
    pub pages: bool,

    /// With --load, the deadline of a query in milliseconds: queries that cannot meet it are
    /// refused
    #[arg(long, value_name = "MS", default_value_t = 500, requires = "load")]
    pub deadline: u64,

    /// Options of all experiments.
    #[command(flatten)]
    pub common: Common,
}

/// With fewer rows some kinds have no bookings; more do not fit into the memory of most machines.
const ROWS: RangeInclusive<u64> = 1_000..=100_000_000;
/// Maximal number of requests of a batch.
const MAX_BATCH: usize = 1 << 16;

impl ScanOptions {
    /// Returns the number of rows of the table.
    pub(super) fn row_count(&self) -> Result<u64, Failure> {
        let rows = self.rows.unwrap_or(if self.common.quick { 100_000 } else { 2_000_000 });
        if ROWS.contains(&rows) {
            return Ok(rows);
        }
        Err(Failure::Usage(format!("--rows is {rows}; choose {} to {}", ROWS.start(), ROWS.end())))
    }

    /// Checks the number of requests of a batch.
    pub(super) fn check_size(&self, requests: usize) -> Result<(), Failure> {
        if (1..=MAX_BATCH).contains(&requests) {
            return Ok(());
        }
        Err(Failure::Usage(format!("--batch is {requests}; choose 1 to {MAX_BATCH}")))
    }
}
