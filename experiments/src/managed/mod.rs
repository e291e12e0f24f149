//! The managed experiment: servers of requests.
//!
//! Without a subcommand, requests have ranks, and are served from one queue that all workers share.
//!
//! Empty requests show the overhead of the queue. Requests of some microseconds show the occupancy
//! of workers and the latency of requests. The runtime's two rank orders are compared with thread
//! pools around a heap in a mutex and around a skip list, and with a new thread for each request.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns, notes and conclusion |
//! | `load` | the requests, the work of serving one, and the results |
//! | `contenders` | the contenders by name |
//! | `times` | percentiles of times |
//! | `threads` | thread pools, and a thread per request |
//! | `simulated` | this runtime on virtual cores |
//! | `open_loop/` | the part `open-loop`: latency of requests that come at random moments |
//! | `waits/` | the part `waits`: throughput by when a client waits for its requests |

mod contenders;
mod experiment;
mod load;
mod open_loop;
mod options;
mod simulated;
mod threads;
mod times;
mod waits;

pub use open_loop::OpenLoopOptions;
pub use options::{ManagedOptions, Part};
pub use waits::WaitsOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &ManagedOptions) -> Result<(), Failure> {
    match &options.part {
        Some(Part::OpenLoop(options)) => open_loop::run(options),
        Some(Part::Waits(options)) => waits::run(options),
        None => experiment::Experiment::new(options)?.carry_out(&options.common),
    }
}
