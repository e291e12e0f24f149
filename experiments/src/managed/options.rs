//! The command line of the experiment.

use super::contenders;
use crate::cli::{Common, parse_count};
use crate::lineup::help;
use clap::Args;

/// Requests with ranks, served by pools of workers with one queue: what each costs, how long it waits, and how much of the
/// time workers are at work. With 1, 4, 8, 16 and 32 workers unless others are asked for, or --quick.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct Options {
    /// Requests [default: 10000; with --quick, 1000]; ten times as many where they do nothing
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub requests: Option<u64>,

    /// Microseconds that serving a request takes: occupancy is measured with each of them, all else with the first
    #[arg(long, value_name = "µS,…", value_delimiter = ',', default_value = "10")]
    pub work: Vec<u32>,

    /// Numbers of virtual cores, on which occupancy is computed as well
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "4,8,16,32")]
    pub cores: Vec<usize>,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}
