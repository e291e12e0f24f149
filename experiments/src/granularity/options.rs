//! The command line of the experiment.

use super::contenders;
use crate::cli::{Common, parse_count};
use crate::lineup::help;
use clap::Args;

/// How small tasks may be: the least of many records by tasks of 10 to 10 million of them, in millions of records a
/// second.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct Options {
    /// MiB of records, which take 16 bytes each [default: 640; with --quick, 32]
    #[arg(long, value_name = "MIB")]
    pub size: Option<usize>,

    /// Records a task [default: the powers of ten from 10 to 10M that there are records for]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_count)]
    pub grains: Option<Vec<u64>>,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}
