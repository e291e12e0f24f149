//! Defines the command line of the experiment.

use super::contenders::ALL;
use super::effort::Times;
use super::mix::Workload;
use clap::{Args, ValueEnum};
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// What isolates long reads from writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LongReads {
    /// A claim on what they read, held until the end
    Claimed,
    /// A claim until a snapshot has been taken; writers then copy the parts in it
    Snapshot,
    /// With lines, a survey of a few nodes at a time instead of the claim, for operations whose
    /// plan reads no nodes; otherwise as snapshot
    Survey,
}

impl LongReads {
    /// Returns the name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Snapshot => "snapshot",
            Self::Survey => "survey",
        }
    }
}

/// Measure STMBench7: operations on a CAD model, from a read of one part to a traversal of all, in
/// thousands of operations a second; with --virtual on any number of workers, in virtual time.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(&ALL, &[]))]
pub struct Options {
    /// Number of operations [default: 20k; 2k with --virtual, 1k with --quick]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub operations: Option<u64>,

    /// Operations in flight for each worker: as soon as one ends, the next one starts
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub clients: usize,

    /// What isolates long reads from writers
    #[arg(long, value_name = "HOW", value_enum, default_value_t = LongReads::Claimed)]
    pub long_reads: LongReads,

    /// Workloads [default: all of them]
    #[arg(long = "workload", value_name = "NAME,…", value_enum, value_delimiter = ',')]
    pub workloads: Vec<Workload>,

    /// Leave out long traversals [default: first without, then with them; with --quick, without]
    #[arg(long)]
    pub no_long: bool,

    /// Leave out long traversals that write
    #[arg(long, conflicts_with = "no_long")]
    pub no_long_writes: bool,

    /// Use a small world, of 20 composite parts instead of 500
    #[arg(long)]
    pub small: bool,

    /// Leave out structural changes
    #[arg(long)]
    pub fixed: bool,

    /// Run in virtual time, with any number of --workers on any machine
    #[arg(long = "virtual")]
    pub is_virtual: bool,

    /// Costs in virtual time.
    #[command(flatten)]
    pub times: Times,

    /// Options of all experiments.
    #[command(flatten)]
    pub common: Common,
}
