//! The service experiment: a bank behind HTTP, whose transfers touch two accounts.
//!
//! A server of its own process serves requests by axum; only the bank behind it differs. A client
//! in this process sends transfers, and checks every answer. The CPU time of the server counts as
//! well as the clock.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `turn` | one turn against a server, and what it gives |
//! | `transfer` | requests and answers, as text |
//! | `loads` | what the transfers of a turn are, and when they are due |
//! | `client` | connections that send the transfers |
//! | `ledger` | the check of all answers and of the final accounts |
//! | `process` | the server as a process: started, asked for accounts and usage, ended |
//! | `server` | the server: axum before a bank |
//! | `banks/` | the contenders |

mod banks;
mod client;
mod experiment;
mod ledger;
mod loads;
mod options;
mod process;
mod server;
mod transfer;
mod turn;

pub use options::ServiceOptions;
pub use server::{Serve, serve};

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
///
/// # Errors
///
/// If an option cannot be satisfied, a server cannot be started, or an answer is wrong.
pub fn run(options: &ServiceOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
