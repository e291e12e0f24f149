//! The command line of the experiment.

use crate::cli::{Common, parse_count};
use crate::hierarchy::contenders::ALL;
use crate::lineup::help;
use clap::Args;

/// STMBench7: operations on a CAD model, from a look at one part to a walk through all, in thousands of operations a second.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(ALL, &[]))]
pub struct Options {
    /// Operations [default: 20k; with --quick, 2k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub operations: Option<u64>,

    /// A small world, of 20 composite parts instead of 500
    #[arg(long)]
    pub small: bool,

    /// No changes of the structure
    #[arg(long)]
    pub fixed: bool,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}
