//! The command line of the inquiry.

use crate::cli::parse_bytes;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use xtasking_knowledge::facts::CpuSet;
use xtasking_knowledge::{Bound, Request, Sharing};

/// What the machine is and is doing: a drawing, or the answer to a question.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The question; without one the machine is shown.
    #[command(subcommand)]
    pub question: Option<Question>,

    /// Look at another machine: its /proc and /sys are below this folder
    #[arg(long, value_name = "DIR", global = true)]
    pub root: Option<PathBuf>,

    /// Look at a machine that hwloc describes: a file that `lstopo --of xml` has written, or a synthetic description such as
    /// "package:2 [numa(memory=8GiB)] core:8 pu:2"
    #[arg(long, value_name = "FILE|DESCRIPTION", global = true, conflicts_with_all = ["root", "span"])]
    pub hwloc: Option<String>,

    /// How many milliseconds the load is watched; 0 does not look [default: 200; with --root, 0]
    #[arg(long, value_name = "MS", global = true)]
    pub span: Option<u64>,

    /// Write the facts, or the answer, as JSON; - prints it in place of the text
    #[arg(long, value_name = "FILE", global = true)]
    pub json: Option<PathBuf>,

    /// Draw the machine as SVG
    #[arg(long, value_name = "FILE", global = true)]
    pub plot: Option<PathBuf>,
}

/// What can be asked, once or again and again.
#[derive(Clone, Debug, Subcommand)]
pub enum Question {
    /// Once.
    #[command(flatten)]
    Once(Once),
    /// An allocation, and whenever the best plan has changed since
    Watch(Vigil),
}

/// What can be asked.
#[derive(Clone, Debug, Subcommand)]
pub enum Once {
    /// How much data the caches of a level hold
    Cache {
        /// 1 is the nearest to a core
        level: u8,
    },
    /// Into how many partitions data is best divided, and on which CPUs
    Partitions {
        /// The data
        #[command(flatten)]
        data: Data,
    },
    /// The same, with more to say about it
    Allocation(Allocation),
}

/// What is asked again and again.
#[derive(Clone, Debug, Args)]
pub struct Vigil {
    /// What is asked.
    #[command(flatten)]
    pub allocation: Allocation,

    /// For how long [default: until interrupted]
    #[arg(long, value_name = "N")]
    pub seconds: Option<u32>,

    /// The milliseconds between looks; shares of less than 100 are rough
    #[arg(long, value_name = "MS", default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..))]
    pub every: u32,
}

/// What there is to be divided.
#[derive(Clone, Debug, Args)]
pub struct Data {
    /// How much data there is, such as 8GiB
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub size: u64,

    /// What bounds the work on it
    #[arg(long, default_value = "memory", value_parser = parser([("memory", Bound::Memory), ("compute", Bound::Compute)]))]
    pub bound: Bound,
}

/// All that can be said about it.
#[derive(Clone, Debug, Args)]
pub struct Allocation {
    /// The data.
    #[command(flatten)]
    pub data: Data,

    /// At least so many partitions
    #[arg(long, value_name = "N")]
    pub fewest: Option<u32>,

    /// At most so many partitions
    #[arg(long, value_name = "N")]
    pub most: Option<u32>,

    /// A partition is to have at least so many bytes
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub smallest: Option<u64>,

    /// A partition is to have at most so many bytes
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub largest: Option<u64>,

    /// Whether workers should share caches
    #[arg(long, default_value = "any", value_parser = parser([("any", Sharing::Any), ("together", Sharing::Together), ("apart", Sharing::Apart)]))]
    pub caches: Sharing,

    /// All partitions are of one size, also where CPUs differ
    #[arg(long)]
    pub even: bool,

    /// One worker a core, also where it has several threads
    #[arg(long)]
    pub no_siblings: bool,

    /// CPUs that get no worker, such as 0-3,8
    #[arg(long, value_name = "CPUS")]
    pub keep: Option<CpuSet>,
}

impl Allocation {
    /// What is asked for.
    pub fn request(&self) -> Request {
        Request {
            fewest: self.fewest,
            most: self.most,
            smallest: self.smallest,
            largest: self.largest,
            caches: self.caches,
            weighted: !self.even,
            siblings: !self.no_siblings,
            keep: self.keep.clone().unwrap_or_default(),
            ..Request::new(self.data.size, self.data.bound)
        }
    }
}

/// One of some values, by name.
fn parser<T: Copy + Send + Sync + 'static, const N: usize>(
    known: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let value = move |name: String| known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    PossibleValuesParser::new(known.map(|(name, _)| name))
        .try_map(move |name| value(name).ok_or("no such value"))
}
