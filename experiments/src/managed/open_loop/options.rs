//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::Common;
use xtasking_harness::lineup::help;

/// Latency of requests that come at random moments, whether or not earlier ones are over
///
/// The default numbers of workers are 1 and 2. The thread that submits needs a core besides them;
/// without one it shares a core with a worker, and the latencies contain that.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct OpenLoopOptions {
    /// Mean service times in microseconds, 1 to 10,000
    #[arg(long, value_name = "µS,…", value_delimiter = ',', default_value = "1,10,100")]
    pub service: Vec<u32>,

    /// Loads in percent of the workers' capacity, 1 to 99
    #[arg(long, value_name = "%,…", value_delimiter = ',', default_value = "50,80,95")]
    pub load: Vec<u32>,

    /// Milliseconds in which the requests of a turn come, 1 to 60,000 [default: 1000; with --quick,
    /// 10]
    #[arg(long, value_name = "MS")]
    pub time: Option<u32>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
