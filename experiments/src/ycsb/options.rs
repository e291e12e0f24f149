//! The command line of the experiment.

use super::lineup;
use super::settings::{Layout, Prefetch, Primitive};
use clap::Args;
use std::path::PathBuf;
use xtasking::Builder;
use xtasking_harness::common::{Common, parse_count};

/// Throughput of ordered indexes on the YCSB workloads
///
/// Requests are generated before the clock starts, and every result is checked.
#[derive(Clone, Debug, Args)]
#[command(after_help = lineup::help())]
pub struct YcsbOptions {
    /// Workloads to run: A to F, insert (load only), or all [default: insert A C]
    #[arg(value_name = "WORKLOAD", value_delimiter = ',')]
    pub workloads: Vec<String>,

    /// Read the workload from a YCSB property file instead; later files override earlier ones
    #[arg(short = 'P', long = "workload-file", value_name = "FILE", conflicts_with = "workloads")]
    pub workload_files: Vec<PathBuf>,

    /// Set a YCSB property in all workloads, such as requestdistribution=uniform
    #[arg(short = 'p', long = "property", value_name = "NAME=VALUE")]
    pub properties: Vec<String>,

    /// Number of records to load, such as 2M [default: 2M; with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub records: Option<u64>,

    /// Number of operations of each run [default: 1M; with --quick, 200k]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub operations: Option<u64>,

    /// Synchronization of tasks on the same node of the tree [default: latched]
    #[arg(long, help_heading = "XTasking", value_enum)]
    pub primitive: Option<Primitive>,

    /// Prefetch distance in tasks, 1 to 1048576, or off [default: chosen by the runtime]
    #[arg(long, help_heading = "XTasking", value_name = "N|off", value_parser = parse_prefetch)]
    pub prefetch_distance: Option<Prefetch>,

    /// Concurrent operations of each worker, 1 to 1024 [default: 64]
    #[arg(long, help_heading = "XTasking", value_name = "N")]
    pub in_flight: Option<usize>,

    /// Size of a tree node in bytes: 512, 1024, 2048 or 4096 [default: 1024]
    #[arg(long, help_heading = "XTasking", value_name = "BYTES")]
    pub node_size: Option<usize>,

    /// Layout of the entries in a tree node [default: hinted]
    #[arg(long, help_heading = "XTasking", value_enum)]
    pub layout: Option<Layout>,

    /// Keys of a batch of limit, 1 to 32; each run counts the fastest [default: 4,8,16]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub limit_batch: Option<Vec<usize>>,

    /// Run all workers in one thread, interleaved by the seed: to check results, not to measure
    #[arg(long, help_heading = "XTasking", conflicts_with = "against")]
    pub simulation: bool,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}

/// The largest prefetch distance that makes a difference.
pub const MAX_PREFETCH_DISTANCE: usize = Builder::MAX_PREFETCH_DISTANCE;

fn parse_prefetch(text: &str) -> Result<Prefetch, String> {
    match text {
        "off" | "0" => Ok(Prefetch::Off),
        _ => text
            .parse()
            .map(Prefetch::Distance)
            .map_err(|_| format!("write a number of tasks, at most {MAX_PREFETCH_DISTANCE}, or off")),
    }
}
