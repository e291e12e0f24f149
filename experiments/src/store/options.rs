//! The command line of the experiment.

use super::load::{Popularity, RequestKind};
use super::programs::{self, Running};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use xtasking_harness::common::{Common, parse_count};
use xtasking_harness::lineup::help;

/// A store that clients use over Redis' protocol, in closed loop; and more
///
/// Without a subcommand, connections send pipelines of requests in closed loop; with --virtual in
/// virtual time, to a store in this program.
///
/// Each server is a process of its own; the client checks every reply. A server with one worker, as
/// by default, has the first core, and the client the last one, if there are two. Redis, Valkey,
/// memcached and kevy take part if their programs are found; peers/servers gets them. Of XTasking
/// the program `xtasking-store` beside this one takes part; if it is not built, this one serves.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(&programs::ALL, &[]), args_conflicts_with_subcommands = true)]
pub struct StoreOptions {
    /// The part of the experiment to run instead.
    #[command(subcommand)]
    pub part: Option<StorePart>,

    /// How many requests a connection sends at once
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,16,128")]
    pub pipeline: Vec<u32>,

    /// The requests: get, set, mget:N, mset:N, multi:N, or YCSB's workloads a, b, c, d, f
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', default_value = "get,set,mget")]
    pub requests: Vec<RequestKind>,

    /// The length of a turn in milliseconds [default: 200; with --quick, 50]
    #[arg(long, value_name = "MS")]
    pub time: Option<u32>,

    /// Run XTasking's store in virtual time instead, on these numbers of cores, such as 1,2,4,8,16
    #[arg(long = "virtual", value_name = "N,…", value_delimiter = ',')]
    pub virtual_cores: Option<Vec<usize>>,

    /// Costs in virtual time.
    #[command(flatten)]
    pub times: VirtualTimes,

    /// What the servers are and have.
    #[command(flatten)]
    pub stage: StageOptions,
}

/// Nanoseconds of virtual time that the engine's own annotations do not say.
#[derive(Clone, Copy, Debug, Args)]
pub struct VirtualTimes {
    /// Nanoseconds of virtual time in which the system receives and sends a pipeline, each half
    #[arg(long, value_name = "NS", default_value_t = 8_000, requires = "virtual_cores")]
    pub system: u64,

    /// Nanoseconds of virtual time to parse a request, plan and count it, outside of shards
    #[arg(long, value_name = "NS", default_value_t = 300, requires = "virtual_cores")]
    pub request: u64,

    /// Nanoseconds of virtual time in which the latch of a shard comes from another core
    #[arg(long, value_name = "NS", default_value_t = 60, requires = "virtual_cores")]
    pub transfer: u64,

    /// Number of the store's shards in virtual time, a power of two [default: the store's own]
    #[arg(long, value_name = "N", requires = "virtual_cores")]
    pub shards: Option<usize>,
}

/// Parts of the experiment with measurements of their own.
#[derive(Clone, Debug, Subcommand)]
#[allow(missing_docs, reason = "the help text of a part is that of its options")]
pub enum StorePart {
    OpenLoop(LatencyOptions),
    Restart(RestartOptions),
    Snapshot(SnapshotOptions),
}

/// What the servers are, and what they are loaded with.
#[derive(Clone, Debug, Args)]
pub struct StageOptions {
    /// The number of keys, each of 16 bytes [default: 1000000; with --quick, 10000]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub keys: Option<u64>,

    /// The size of values in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 8)]
    pub value: u32,

    /// The number of connections
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub connections: u32,

    /// How often each key is used; YCSB's workloads say that themselves
    #[arg(long, value_name = "HOW", default_value = "uniform")]
    pub popularity: Popularity,

    /// A server of Redis' protocol that runs already, such as garnet=127.0.0.1:7001; with @PROCESS
    /// after it, its CPU time and memory are measured too
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = programs::parse_running)]
    pub server: Vec<Running>,

    /// Give the servers a log that they sync at these times
    #[arg(long, value_name = "WHEN")]
    pub appendfsync: Option<Fsync>,

    /// Where the servers keep their files [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Options that all experiments share.
    #[command(flatten)]
    pub common: Common,
}

/// When a log is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fsync {
    /// Before each reply to a write.
    Always,
    /// Once in a second.
    Everysec,
    /// When the system wants to.
    No,
}

/// Latency of requests that come at random moments, at a rate
///
/// The latency of a request counts from the moment at which it was due, whether or not it could be
/// sent then. The default number of workers is 1.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(&programs::ALL, &[]))]
pub struct LatencyOptions {
    /// Requests a second
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_count)]
    #[arg(default_value = "10k,50k")]
    pub rate: Vec<u64>,

    /// The requests: get, set, mget:N, mset:N, multi:N, or YCSB's workloads a, b, c, d, f
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', default_value = "get,set")]
    pub requests: Vec<RequestKind>,

    /// The length of a turn in milliseconds [default: 1000; with --quick, 50]
    #[arg(long, value_name = "MS")]
    pub time: Option<u32>,

    /// What the servers are and have.
    #[command(flatten)]
    pub stage: StageOptions,
}

/// The time in which a server that has saved a snapshot is back
///
/// Keys are loaded and saved, the process is killed and started again. It is back when it answers
/// PING and has all keys. The default number of workers is 1.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(&programs::ALL, &[]))]
pub struct RestartOptions {
    /// What the servers are and have.
    #[command(flatten)]
    pub stage: StageOptions,
}

/// Latency beside a snapshot, and the memory that it takes
///
/// Requests come at a rate, as with `open-loop`: first for a time, then while BGSAVE is under way.
/// The default number of workers is 1.
#[derive(Clone, Debug, Args)]
#[command(after_help = help(&programs::ALL, &[]))]
pub struct SnapshotOptions {
    /// Requests a second
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "20k")]
    pub rate: u64,

    /// The requests: get, set, mget:N, mset:N, multi:N, or YCSB's workloads a, b, c, d, f
    #[arg(long, value_name = "KIND", default_value = "a")]
    pub requests: RequestKind,

    /// The time before the snapshot in milliseconds [default: 1000; with --quick, 50]
    #[arg(long, value_name = "MS")]
    pub time: Option<u32>,

    /// What the servers are and have.
    #[command(flatten)]
    pub stage: StageOptions,
}
