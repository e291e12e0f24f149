//! The command line of the experiment.

use super::{contenders, experiment};
use crate::cli::{Common, parse_count};
use crate::lineup::help;
use clap::Args;

/// Eager tasks on every pool, on threads (nanoseconds a task) and on virtual cores (λ and speed-up).
#[derive(Clone, Debug, Args)]
#[command(after_help = after_help())]
pub struct Options {
    /// Which cases to run, by name or by any part of their names [default: all but λ on threads]
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,

    /// How many tasks one task spawns [default: 10M; with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub tasks: Option<u64>,

    /// Which Fibonacci number on threads [default: 35; with --quick, 25]
    #[arg(long, value_name = "N")]
    pub number: Option<u32>,

    /// Rows and columns of the matrix on threads [default: 1024; with --quick, 256]
    #[arg(long, value_name = "N")]
    pub order: Option<usize>,

    /// Rows and columns of its tiles
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub tile: usize,

    /// Numbers of virtual cores
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "24,48,192")]
    pub cores: Vec<usize>,

    /// Which Fibonacci number on virtual cores [default: 25; with --quick, 15]
    #[arg(long, value_name = "N")]
    pub virtual_number: Option<u32>,

    /// Rows of tiles on virtual cores [default: 64; with --quick, 12]
    #[arg(long, value_name = "N")]
    pub virtual_rows: Option<usize>,

    /// Virtual nanoseconds that subtracting the product of two tiles takes; dividing by one takes half of that, and the
    /// factor of one a sixth
    #[arg(long, value_name = "NS", default_value_t = 1600)]
    pub product: u64,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}

/// The names for `--against` and for cases, which their lists know best.
fn after_help() -> String {
    let known = experiment::Case::ALL.iter().map(|case| format!("\n  {:<20} {}", case.name(), case.about()));
    format!("{}\n\nCases:{}", help(contenders::ALL, &[]), known.collect::<String>())
}
