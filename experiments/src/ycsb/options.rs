//! The command line of the experiment.

use crate::cli::{Common, parse_count};
use crate::contenders::{self, Layout, Prefetch, Primitive};
use clap::Args;
use std::path::PathBuf;

/// YCSB's workloads on ordered indexes: requests prepared and every result checked.
#[derive(Clone, Debug, Args)]
#[command(after_help = contenders())]
pub struct Options {
    /// What to run: A to F, insert, or all [default: insert A C]
    #[arg(value_name = "WORKLOAD", value_delimiter = ',')]
    pub workloads: Vec<String>,

    /// Read the workload from YCSB's property files instead, later ones over earlier ones
    #[arg(short = 'P', long = "workload-file", value_name = "FILE", conflicts_with = "workloads")]
    pub workload_files: Vec<PathBuf>,

    /// Set a property of YCSB, such as requestdistribution=uniform, in all workloads
    #[arg(short = 'p', long = "property", value_name = "NAME=VALUE")]
    pub properties: Vec<String>,

    /// How many records to load [default: 2M; with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub records: Option<u64>,

    /// How many operations to run on them [default: 1M; with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub operations: Option<u64>,

    /// How tasks on the same node are kept apart [default: as the runtime chooses]
    #[arg(long, help_heading = "XTasking", value_enum)]
    pub primitive: Option<Primitive>,

    /// How many tasks ahead data is fetched: a number, or off [default: as the runtime chooses]
    #[arg(long, help_heading = "XTasking", value_name = "N|off", value_parser = parse_prefetch)]
    pub prefetch_distance: Option<Prefetch>,

    /// How many operations of a worker are under way at once [default: as the contender chooses]
    #[arg(long, help_heading = "XTasking", value_name = "N")]
    pub in_flight: Option<usize>,

    /// The size of a node in bytes: 512, 1024, 2048 or 4096 [default: as the contender chooses]
    #[arg(long, help_heading = "XTasking", value_name = "BYTES")]
    pub node_size: Option<usize>,

    /// How the entries of a node lie in memory [default: as the contender chooses]
    #[arg(long, help_heading = "XTasking", value_enum)]
    pub layout: Option<Layout>,

    /// Run on virtual cores in one thread, interleaved as the seed says: slow, to check results, not to measure
    #[arg(long, help_heading = "XTasking", conflicts_with = "against")]
    pub simulation: bool,

    /// What all experiments share.
    #[command(flatten)]
    pub common: Common,
}

fn parse_prefetch(text: &str) -> Result<Prefetch, String> {
    match text {
        "off" | "0" => Ok(Prefetch::Off),
        _ => text.parse().map(Prefetch::Distance).map_err(|_| "write a number of tasks, or off".to_string()),
    }
}

/// The names for `--against`, which the list of contenders knows best.
fn contenders() -> String {
    let line = |entry: &contenders::Entry| {
        let default = if entry.by_default { " [default]" } else { "" };
        format!("\n  {:<20} {}{default}", entry.name, entry.about)
    };
    let lines: String = contenders::ALL.iter().map(line).collect();
    format!("Contenders, of which the first always takes part:{lines}")
}
