//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::Common;
use xtasking_harness::lineup::help;

/// Balance of work that is divided into long pieces, in milliseconds
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct DivideOptions {
    /// Total time of the pieces of each case in milliseconds, 1 to 10,000, as one core takes it
    /// [default: 100; with --quick, 10]
    #[arg(long, value_name = "MS")]
    pub total: Option<u32>,

    /// Numbers of pieces, 1 to 100,000 each, a case for each in each shape [default: 8,64,5000]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub pieces: Vec<u32>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
