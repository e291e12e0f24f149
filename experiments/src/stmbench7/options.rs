//! The command line of the experiment.

use super::contenders::ALL;
use super::effort::Times;
use super::mix::Workload;
use crate::cli::{Common, parse_count};
use crate::lineup::help;
use clap::{Args, ValueEnum};

/// What operations that read long have meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LongReads {
    /// A claim to what they read, until they are over
    Claimed,
    /// A claim until they have a snapshot; who changes what is in one changes a copy
    Snapshot,
    /// Those of lines that know beforehand what they read, a few nodes at a time: a snapshot by a survey; the others as above
    Survey,
}

impl LongReads {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Snapshot => "snapshot",
            Self::Survey => "survey",
        }
    }
}

/// STMBench7: operations on a CAD model, from a look at one part to a walk through all, in thousands of operations a second;
/// with --virtual on as many workers as wanted, in virtual time.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(&ALL, &[]))]
pub struct Options {
    /// Operations [default: 20k; in virtual time, 2k; with --quick, 1k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub operations: Option<u64>,

    /// Operations that are under way at a time, for each worker: as soon as one is over, the next one comes
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub clients: usize,

    /// What operations that read long have meanwhile
    #[arg(long, value_name = "HOW", value_enum, default_value_t = LongReads::Claimed)]
    pub long_reads: LongReads,

    /// Which workloads [default: all of them]
    #[arg(long = "workload", value_name = "NAME,…", value_enum, value_delimiter = ',')]
    pub workloads: Vec<Workload>,

    /// No long traversals [default: without them, and then with; with --quick, without]
    #[arg(long)]
    pub no_long: bool,

    /// No long traversals that write, but those that read
    #[arg(long, conflicts_with = "no_long")]
    pub no_long_writes: bool,

    /// A small world, of 20 composite parts instead of 500
    #[arg(long)]
    pub small: bool,

    /// No changes of the structure
    #[arg(long)]
    pub fixed: bool,

    /// In virtual time, which --workers as 16 or 64 share on any machine
    #[arg(long = "virtual")]
    pub is_virtual: bool,

    /// What things take then.
    #[command(flatten)]
    pub times: Times,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}
