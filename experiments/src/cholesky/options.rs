//! The command line of the experiment.

use super::contenders;
use crate::cli::Common;
use crate::lineup::help;
use clap::Args;

/// A matrix taken apart by tasks on its tiles, in milliseconds: what many short tasks that depend on each other cost.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, contenders::OUTSIDE))]
pub struct Options {
    /// Rows and columns of the matrix, a multiple of all tiles' [default: 1024; with --quick, 256]
    #[arg(long, value_name = "N")]
    pub order: Option<usize>,

    /// Rows and columns of the tiles [default: 128,64,32,16]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub tiles: Option<Vec<usize>>,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}
