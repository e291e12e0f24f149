//! The command line of the experiment.

use super::contenders;
use clap::Args;
use xtasking_harness::common::Common;
use xtasking_harness::lineup::help;

/// Overhead of a fork and its join, measured by recursive Fibonacci numbers, in nanoseconds
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, contenders::OUTSIDE))]
pub struct FibOptions {
    /// Fibonacci number to compute, 22 to 45; slow implementations compute a smaller one [default:
    /// 35; with --quick, 25]
    #[arg(long, value_name = "N")]
    pub number: Option<u32>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}
