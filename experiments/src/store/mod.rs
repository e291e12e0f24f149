//! The store experiment: a Redis-compatible store beside Redis, over the protocol.
//!
//! Each server is a process of its own, and the client of this one checks every reply. The CPU time
//! of the server counts as well as the clock: with few requests at a time most of it is the
//! system's.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `turn` | one turn against a server, and what it gives |
//! | `servers` | the contenders, as processes |
//! | `client` | connections that send requests, and check the replies |
//! | `requests` | the keys and values, and what a request has to be answered with |
//! | `serve` | this program as a server |

mod client;
mod experiment;
mod options;
mod requests;
mod serve;
mod servers;
mod turn;

pub use options::StoreOptions;
pub use serve::{ServeStore, serve};

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
///
/// # Errors
///
/// If an option cannot be satisfied, a server cannot be started, or a reply is wrong.
pub fn run(options: &StoreOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
