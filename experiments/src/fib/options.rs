//! The command line of the experiment.

use super::contenders;
use crate::cli::Common;
use crate::lineup::help;
use clap::Args;

/// What a fork and its join cost: Fibonacci numbers by nothing else, in nanoseconds a join.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, contenders::OUTSIDE))]
pub struct Options {
    /// Which Fibonacci number; those that fork eagerly compute a smaller one [default: 35; with --quick, 25]
    #[arg(long, value_name = "N")]
    pub number: Option<u32>,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}
