//! The command line of the experiment.

use super::contenders;
use super::requests::Mix;
use crate::cli::{Common, parse_count};
use crate::lineup::help;
use clap::Args;

/// Batches of requests for airline bookings, in requests a second: what one scan for all of a batch's requests gives, and
/// where an index is better.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, contenders::OUTSIDE))]
pub struct Options {
    /// Rows of the table [default: 2M; with --quick, 100k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub rows: Option<u64>,

    /// Requests of a batch, the changes included [default: 1,16,128,512,1024,2048,4096; with --quick, 16,256,4096]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub batch: Option<Vec<usize>>,

    /// One request in so many is a change: a booking comes, goes, or is changed. With 0, none is
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub updates: usize,

    /// What is asked for [default: all of them; with --quick, mixed]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub mix: Option<Vec<Mix>>,

    /// Batches of a turn [default: 8; with --quick, 2]; up to 16 times as many where they are small
    #[arg(long, value_name = "N")]
    pub batches: Option<usize>,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}
