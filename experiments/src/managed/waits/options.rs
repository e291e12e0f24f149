//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// Throughput of a client that waits for its requests at once, by slots, or periodically
///
/// The default numbers of workers are 1 and 2. The client needs a core besides them.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct WaitsOptions {
    /// Number of requests, 1 to 10,000,000 [default: 20000; with --quick, 500]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub requests: Option<u64>,

    /// Service times in microseconds, 0 to 10,000; 0 for empty requests
    #[arg(long, value_name = "µS,…", value_delimiter = ',', default_value = "0,1,10")]
    pub service: Vec<u32>,

    /// Numbers of slots for outstanding requests, and of requests between periodic waits, 1 to
    /// 100,000
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "16,256")]
    pub slots: Vec<u32>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
