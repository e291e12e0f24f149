//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// Hash join of two tables that are larger than the caches, in millions of rows a second
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, contenders::OUTSIDE))]
pub struct JoinOptions {
    /// Rows of the build side, such as 20M; a row has 16 bytes [default: 2M; with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub build: Option<u64>,

    /// Rows of the probe side, such as 50M [default: 5M; with --quick, 500k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub probe: Option<u64>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
