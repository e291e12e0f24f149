//! Latency in open loop: requests come at random moments, whether or not earlier ones are over.
//!
//! One thread outside the pool submits requests at the moments of a Poisson process. The latency of
//! a request counts from the moment at which it was due, not from its submission. So a request that
//! is submitted late, because earlier submissions took long, counts as slow.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `schedule` | when requests are due, how long each takes, and an ideal server |
//! | `requests` | the requests, and the thread that submits them |
//! | `contenders` | the contenders by name |

mod contenders;
mod experiment;
mod options;
mod requests;
mod schedule;

pub use options::OpenLoopOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub(super) fn run(options: &OpenLoopOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
