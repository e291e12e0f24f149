//! The store experiment: a Redis-compatible store beside Redis, Valkey and memcached, over their
//! protocols.
//!
//! Each server is a process of its own, and the client of this one checks every reply. The CPU time
//! of the server counts as well as the clock: with few requests at a time most of it is the
//! system's. The CPU time of the client says how far it is from being the limit.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | requests a second in closed loop |
//! | `latency` | latency in open loop |
//! | `scaling` | requests a second in virtual time, on any number of cores |
//! | `restart` | the time in which a server that has saved a snapshot is back |
//! | `snapshot` | latency beside a snapshot, and its memory |
//! | `stage` | the servers of a run, which are loaded once, and measured in turns |
//! | `programs` | the contenders by name, and how each is started |
//! | `server` | a server as a process |
//! | `load` | the load generator |
//! | `serve` | this program as a server |

mod experiment;
mod latency;
mod load;
mod options;
mod programs;
mod restart;
mod scaling;
mod serve;
mod server;
mod snapshot;
mod stage;

pub use load::{Popularity, RequestKind};
pub use options::{
    Fsync, LatencyOptions, RestartOptions, SnapshotOptions, StageOptions, StoreOptions, StorePart,
    VirtualTimes,
};
pub use programs::Running;
pub use serve::{ServeStore, serve};

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
///
/// # Errors
///
/// If an option cannot be satisfied, a server cannot be started, or a reply is wrong.
pub fn run(options: &StoreOptions) -> Result<(), Failure> {
    match &options.part {
        Some(StorePart::OpenLoop(options)) => {
            latency::Latency::new(options)?.carry_out(&options.stage.common)
        }
        Some(StorePart::Restart(options)) => restart::Restart::new(options)?.carry_out(&options.stage.common),
        Some(StorePart::Snapshot(options)) => {
            snapshot::Snapshot::new(options)?.carry_out(&options.stage.common)
        }
        None if options.virtual_cores.is_some() => {
            scaling::Scaling::new(options)?.carry_out(&options.stage.common)
        }
        None => experiment::Experiment::new(options)?.carry_out(&options.stage.common),
    }
}
