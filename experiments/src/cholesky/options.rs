//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::Common;
use xtasking_harness::lineup::help;

/// Tasks with dependencies: Cholesky factorisation of a matrix by tiles, in milliseconds
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, contenders::OUTSIDE))]
pub struct CholeskyOptions {
    /// Order of the matrix, a multiple of the order of all tiles [default: 1024; with --quick, 256]
    #[arg(long, value_name = "N")]
    pub order: Option<usize>,

    /// Orders of the tiles, each measured as a case [default: 128,64,32,16]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub tiles: Option<Vec<usize>>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
