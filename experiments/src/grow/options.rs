//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// A tree that grows from its root, one insert at a time, in thousands of inserts a second; and how
/// many pairs of its sub-trees exclude each other
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct GrowOptions {
    /// Nodes in the end [default: 1M; with --quick, 10k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub nodes: Option<u64>,

    /// Random pairs of nodes, neither below the other, whose sub-trees two tasks write [default:
    /// 10k; with --quick, 200; none with one worker]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub pairs: Option<u64>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
