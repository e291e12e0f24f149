//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// Breadth-first search on a random graph, in millions of edges a second
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct GraphOptions {
    /// Vertices of the graph, such as 2M [default: 200k; with --quick, 20k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub vertices: Option<u64>,

    /// Directed edges of the graph, such as 20M [default: ten for each vertex]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub edges: Option<u64>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
