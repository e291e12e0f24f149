//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// Throughput by task size: the minimum of many records, by tasks of 10 to 10 million records
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct GranularityOptions {
    /// Size of all records in MiB, at 16 bytes each [default: 640; with --quick, 32]
    #[arg(long, value_name = "MIB")]
    pub size: Option<usize>,

    /// Task sizes in records, such as 100,10k [default: powers of ten from 10 to 10M, up to all
    /// records]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_count)]
    pub grains: Option<Vec<u64>>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
