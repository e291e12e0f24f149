//! The command line of the experiment.

use super::{case, contenders};
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// Load balancing by each queue policy, on threads (ns per task) and on virtual cores (imbalance
/// and speed-up)
#[derive(Clone, Debug, Args)]
#[command(after_help = after_help())]
pub struct PoolsOptions {
    /// Cases to run, by name or by a part of their names [default: all but those that
    /// are watched or compared]
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,

    /// Number of tasks that the spawner spawns [default: 10M; with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub tasks: Option<u64>,

    /// Fibonacci number to compute on threads [default: 35; with --quick, 25]
    #[arg(long, value_name = "N")]
    pub number: Option<u32>,

    /// Order of the matrix on threads [default: 1024; with --quick, 256]
    #[arg(long, value_name = "N")]
    pub order: Option<usize>,

    /// Order of its tiles, a divisor of --order
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub tile: usize,

    /// Numbers of virtual cores to simulate
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "24,48,192")]
    pub cores: Vec<usize>,

    /// Fibonacci number to compute on virtual cores [default: 25; compared with threads, 20; with
    /// --quick, 15]
    #[arg(long, value_name = "N")]
    pub virtual_number: Option<u32>,

    /// Rows of tiles of the matrix on virtual cores [default: 64; with --quick, 12]
    #[arg(long, value_name = "N")]
    pub virtual_rows: Option<usize>,

    /// Virtual nanoseconds to subtract the product of two tiles; a division takes half of that, a
    /// factorisation a sixth
    #[arg(long, value_name = "NS", default_value_t = 1600)]
    pub product: u64,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}

/// Returns the help text that lists the names for `--against` and the cases.
fn after_help() -> String {
    let known = case::Case::ALL.iter().map(|case| format!("\n  {:<20} {}", case.name(), case.about()));
    format!("{}\n\nCases:{}", help(contenders::ALL, &[]), known.collect::<String>())
}
