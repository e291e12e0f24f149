//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::Common;
use xtasking_harness::lineup::help;

/// A wavefront: tasks on a grid, each after the ones above and to its left, in milliseconds
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct WavefrontOptions {
    /// Rows and columns of blocks, 1 to 4096 [default: 512; with --quick, 64]
    #[arg(long, value_name = "N")]
    pub blocks: Option<usize>,

    /// Rows and columns of cells in a block, 1 to 4096 each, a case for each number
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "8,32")]
    pub side: Vec<usize>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
