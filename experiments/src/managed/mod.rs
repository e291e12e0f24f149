//! The managed experiment: requests with ranks, served from one queue that all workers share.
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
//! | `threads` | thread pools, and a thread per request |
//! | `simulated` | this runtime on virtual cores |

mod contenders;
mod experiment;
mod load;
mod options;
mod simulated;
mod threads;

pub use options::ManagedOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &ManagedOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
