//! The command line of the experiment.

use super::experiment;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// A web service whose requests move money between two accounts
///
/// The server is a process of its own, with axum on the threads of tokio; the client checks every
/// answer. With fewer workers than cores the server has the first core, and the client another one.
/// The default number of workers is 1.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(experiment::ALL, &[]))]
pub struct ServiceOptions {
    /// The number of accounts
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "2000")]
    pub accounts: u64,

    /// The number of connections
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub connections: u32,

    /// The length in microseconds of the transfers that come at random moments
    #[arg(long, value_name = "µS", default_value_t = 1000)]
    pub service: u32,

    /// The loads of these transfers, in percent of what the workers can serve
    #[arg(long, value_name = "%,…", value_delimiter = ',', default_value = "50,80,1000")]
    pub load: Vec<u32>,

    /// The length of a turn in milliseconds [default: 2000; with --quick, 100]
    #[arg(long, value_name = "MS")]
    pub time: Option<u32>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
