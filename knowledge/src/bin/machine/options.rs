//! The command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use xtasking_knowledge::facts::CpuSet;
use xtasking_knowledge::{Bound, Bytes, CacheSharing, InvalidBytes, Request};

/// Draws a machine with its load, or answers a question about it.
#[derive(Clone, Debug, Parser)]
#[command(name = "machine", version)]
pub struct Options {
    /// The question; without one, the machine is drawn.
    #[command(subcommand)]
    pub question: Option<Question>,

    /// Read another machine, whose /proc and /sys are copied below this folder
    #[arg(long, value_name = "DIR", global = true)]
    pub root: Option<PathBuf>,

    /// Read a machine that hwloc describes: a file written by `lstopo --of xml`, or a synthetic
    /// description such as "package:2 [numa(memory=8GiB)] core:8 pu:2"
    #[arg(long, value_name = "FILE|DESCRIPTION", global = true, conflicts_with_all = ["root", "span"])]
    pub hwloc: Option<String>,

    /// Measure the load for this many milliseconds; 0 skips it [default: 200; with --root, 0]
    #[arg(long, value_name = "MS", global = true, value_parser = span())]
    pub span: Option<u64>,

    /// Write the facts or the answer as JSON; - prints it in place of the text
    #[arg(long, value_name = "FILE", global = true)]
    pub json: Option<PathBuf>,

    /// Draw the machine as SVG
    #[arg(long, value_name = "FILE", global = true)]
    pub plot: Option<PathBuf>,
}

/// Parses a number of milliseconds, up to an hour.
fn span() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(..=3_600_000)
}

/// Questions.
#[derive(Clone, Debug, Subcommand)]
pub enum Question {
    /// Questions with one answer.
    #[command(flatten)]
    Once(Once),
    /// The best plan, and each better one as the machine changes
    Watch(WatchOptions),
}

/// Questions with one answer.
#[derive(Clone, Debug, Subcommand)]
pub enum Once {
    /// How many bytes the caches of a level hold
    Cache {
        /// The level; 1 is the nearest to the core
        level: u8,
    },
    /// How many partitions, of which size, on which CPUs
    Partitions {
        /// The data.
        #[command(flatten)]
        data: Data,
    },
    /// The same as `partitions`, with constraints
    Allocation(Allocation),
}

/// Options of `watch`.
#[derive(Clone, Debug, Args)]
pub struct WatchOptions {
    /// The request.
    #[command(flatten)]
    pub allocation: Allocation,

    /// Watch for this many seconds [default: until interrupted]
    #[arg(long, value_name = "N")]
    pub seconds: Option<u32>,

    /// Measure every this many milliseconds; below 100, shares of CPU time are imprecise
    #[arg(long, value_name = "MS", default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..))]
    pub every: u32,
}

/// The names of bottlenecks.
const BOUNDS: [(&str, Bound); 2] = [("memory", Bound::Memory), ("compute", Bound::Compute)];
/// The names of wishes for caches.
const CACHE_SHARINGS: [(&str, CacheSharing); 3] =
    [("any", CacheSharing::Any), ("together", CacheSharing::Together), ("apart", CacheSharing::Apart)];

/// The data to be partitioned.
#[derive(Clone, Debug, Args)]
pub struct Data {
    /// The size of the data, such as 8GiB
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub size: u64,

    /// The bottleneck of the work
    #[arg(long, default_value = "memory", value_parser = parser(BOUNDS))]
    pub bound: Bound,
}

/// The data and the constraints of its plan.
#[derive(Clone, Debug, Args)]
pub struct Allocation {
    /// The data.
    #[command(flatten)]
    pub data: Data,

    /// The minimum number of partitions
    #[arg(long, value_name = "N")]
    pub fewest: Option<u32>,

    /// The maximum number of partitions
    #[arg(long, value_name = "N")]
    pub most: Option<u32>,

    /// The minimum size of a partition
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub smallest: Option<u64>,

    /// The maximum size of a partition
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub largest: Option<u64>,

    /// Prefer CPUs that share caches, or that do not
    #[arg(long, default_value = "any", value_parser = parser(CACHE_SHARINGS))]
    pub caches: CacheSharing,

    /// Make all partitions equal, even on CPUs of different speed
    #[arg(long)]
    pub even: bool,

    /// Use one hardware thread of each core
    #[arg(long)]
    pub no_siblings: bool,

    /// Give these CPUs no worker, such as 0-3,8
    #[arg(long, value_name = "CPUS")]
    pub keep: Option<CpuSet>,
}

impl Allocation {
    /// Returns the request.
    pub fn request(&self) -> Request {
        Request {
            partitions_min: self.fewest,
            partitions_max: self.most,
            partition_bytes_min: self.smallest,
            partition_bytes_max: self.largest,
            caches: self.caches,
            weighted: !self.even,
            siblings: !self.no_siblings,
            excluded: self.keep.clone().unwrap_or_default(),
            ..Request::new(self.data.size, self.data.bound)
        }
    }
}

/// Parses one of some values by its name.
fn parser<T: Copy + Send + Sync + 'static, const N: usize>(
    known: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let value = move |name: String| known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    PossibleValuesParser::new(known.map(|(name, _)| name))
        .try_map(move |name| value(name).ok_or("is not one of the values"))
}

fn bytes(text: &str) -> Result<u64, InvalidBytes> {
    text.parse().map(|Bytes(bytes)| bytes)
}
