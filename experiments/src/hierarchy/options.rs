//! The command line of the experiment.

use super::contenders;
use super::load::Load;
use super::sources::Source;
use crate::cli::{Common, parse_count};
use crate::lineup::help;
use clap::{Args, ValueEnum};

/// Whether workers take tasks from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stealing {
    /// Those with nothing to do.
    On,
    /// A task runs where it was sent.
    Off,
}

/// Tasks on sub-trees of a hierarchy, kept apart in several ways, in thousands of tasks a second; with --virtual on as many
/// workers as wanted, in virtual time.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(contenders::ALL, &[]))]
pub struct Options {
    /// Which hierarchy.
    #[command(flatten)]
    pub source: Source,

    /// What the tasks are like.
    #[command(flatten)]
    pub load: Load,

    /// Tasks [default: 100k; with --quick, and in virtual time, 10k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub tasks: Option<u64>,

    /// Granules of the hierarchy [default: 4,096, but no more than nodes]
    #[arg(long, value_name = "N")]
    pub granules: Option<u32>,

    /// Whether workers with nothing to do take tasks of others: on, off, or both, one after the other
    #[arg(long, value_name = "HOW,…", value_enum, value_delimiter = ',', default_value = "on")]
    pub stealing: Vec<Stealing>,

    /// Tasks that are on their way at most [default: all; 100 where tasks change the hierarchy or panic]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub in_flight: Option<u64>,

    /// In virtual time, which --workers as 14 or 64 share on any machine
    #[arg(long = "virtual")]
    pub is_virtual: bool,

    /// Nanoseconds that a task takes for each node, in virtual time
    #[arg(long, value_name = "NS", default_value_t = 20)]
    pub node_time: u64,

    /// Nanoseconds that it takes to run a task, besides its nodes, in virtual time
    #[arg(long, value_name = "NS", default_value_t = 500)]
    pub task_time: u32,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}
