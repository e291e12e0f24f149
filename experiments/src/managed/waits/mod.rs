//! Strategies of waiting: when a client that keeps submitting requests waits for which of them.
//!
//! A client outside the pool submits requests and waits for all of them, in one of several ways: at
//! once, by a number of slots for outstanding requests, or periodically. The result is the
//! throughput of requests.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `strategy` | the strategies, for any pool with handles |
//! | `contenders` | the contenders by name |

mod contenders;
mod experiment;
mod options;
mod strategy;

pub use options::WaitsOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub(super) fn run(options: &WaitsOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
