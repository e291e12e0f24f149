//! The command line of the experiment.

use super::contenders;
use super::open_loop::OpenLoopOptions;
use super::waits::WaitsOptions;
use clap::{Args, Subcommand};
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// Latency and occupancy of requests with ranks, served from one shared queue; and more
///
/// Without a subcommand, requests have ranks, and come faster than they can be served.
///
/// The default numbers of workers are 1, 4, 8, 16 and 32; with --quick, 1 and one per core.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]), args_conflicts_with_subcommands = true)]
pub struct ManagedOptions {
    /// The part of the experiment to run instead.
    #[command(subcommand)]
    pub part: Option<Part>,

    /// Number of requests; ten times as many if they are empty [default: 10000; with --quick, 1000]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub requests: Option<u64>,

    /// Service times of a request in microseconds; occupancy is measured for each, all else for the
    /// first
    #[arg(long, value_name = "µS,…", value_delimiter = ',', default_value = "10")]
    pub work: Vec<u32>,

    /// Numbers of virtual cores for which occupancy is simulated
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "4,8,16,32")]
    pub cores: Vec<usize>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}

/// Parts of the experiment with contenders of their own.
#[derive(Clone, Debug, Subcommand)]
#[allow(missing_docs, reason = "the help text of a part is that of its options")]
pub enum Part {
    OpenLoop(OpenLoopOptions),
    Waits(WaitsOptions),
}
