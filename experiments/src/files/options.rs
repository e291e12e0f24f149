//! The command line of the experiment.

use super::contenders;
use super::operation::Way;
use clap::Args;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// A file system in memory: files are read and written, sub-trees are summed up, added to and
/// moved; in thousands of operations a second, and for each second of CPU time
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct FilesOptions {
    /// Mixes of operations, by words in their names: small reads, small writes (10% moves), large
    /// reads, large writes [default: all]
    #[arg(long, value_name = "WORDS,…", value_delimiter = ',')]
    pub mix: Vec<String>,

    /// How operations name their nodes; some implementations have no handles
    #[arg(long, value_name = "HOW,…", value_enum, value_delimiter = ',', default_value = "path,handle")]
    pub by: Vec<Way>,

    /// Microseconds of computation in each operation
    #[arg(long, value_name = "µS,…", value_delimiter = ',', default_value = "0")]
    pub body: Vec<f64>,

    /// Directories moved before a turn, such as 0,300,3k,20k
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_count)]
    #[arg(default_value = "0")]
    pub moves: Vec<u64>,

    /// Operations of a turn [default: 200k, with --quick 4k, but at most 0.4 s of computation]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub operations: Option<u64>,

    /// Run in virtual time, with any number of --workers on any machine
    #[arg(long = "virtual")]
    pub is_virtual: bool,

    /// Virtual nanoseconds that an operation takes for each node, besides --body
    #[arg(long, value_name = "NS", default_value_t = 20)]
    pub node_time: u64,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
