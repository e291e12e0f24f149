//! The experiment of the managed pool: requests with ranks, served by pools with one queue for all workers.
//!
//! What a queue costs shows where requests do nothing; how well a pool keeps its workers at work, and how long requests
//! wait, where each takes some microseconds. Beside the runtime's two queues are a heap under a mutex and a skip list with
//! pools of plain threads around them, and a new thread for each request.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `load` | the requests, what serving one is, and what is known when all are served |
//! | `contenders` | who takes part |
//! | `threads` | pools of plain threads |
//! | `simulated` | this runtime on virtual cores |

mod contenders;
mod experiment;
mod load;
mod options;
mod simulated;
mod threads;

pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
