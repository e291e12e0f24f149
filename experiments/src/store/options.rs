//! The command line of the experiment.

use super::experiment;
use super::requests::RequestKind;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// A store that clients use over Redis' protocol
///
/// Each server is a process of its own; the client checks every reply. With fewer workers than
/// cores the server has the first core, and the client another one. The default number of workers
/// is 1. Redis and Valkey run if `redis-server` and `valkey-server` are installed.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(experiment::ALL, &[]))]
pub struct StoreOptions {
    /// The number of keys [default: 1000000; with --quick, 10000]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub keys: Option<u64>,

    /// The size of values in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 8)]
    pub value: u32,

    /// The number of connections
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub connections: u32,

    /// How many requests a connection sends at once
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,16,128")]
    pub pipeline: Vec<u32>,

    /// The requests
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', default_value = "get,set,mget")]
    pub requests: Vec<RequestKind>,

    /// The length of a turn in milliseconds [default: 2000; with --quick, 100]
    #[arg(long, value_name = "MS")]
    pub time: Option<u32>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
