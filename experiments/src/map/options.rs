//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// Inserts and lookups of a hash map that is larger than the caches, in millions a second
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct MapOptions {
    /// Records of the map, such as 20M [default: 2M; with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub records: Option<u64>,

    /// Lookups of each turn, uniformly drawn [default: 4M; with --quick, 400k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub lookups: Option<u64>,

    /// Share of the lookups that find nothing, in percent; beside it, all lookups are hits
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    pub misses: u64,

    /// Keys ahead of the current one that the loop by hand prefetches
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub ahead: usize,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
