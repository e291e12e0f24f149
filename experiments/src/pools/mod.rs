//! The pools experiment: load balancing of unbound tasks by each queue policy, compared with rayon
//! and tokio, on threads and on any number of virtual cores.
//!
//! On threads, a result is the wall-clock time divided by the number of tasks. The imbalance λ of
//! the workers' busy times is max ÷ mean − 1. It says nothing of overhead: one queue that all
//! workers share keeps them equally busy, even if they take longer than one core would. So each
//! table also has the speed-up, relative to the same work without tasks.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `case` | the cases, and how each is measured |
//! | `experiment` | options checked and completed, turns, notes and conclusion |
//! | `work` | the workloads: one spawner, recursive Fibonacci, Cholesky |
//! | `graph` | the task graph of tiled Cholesky factorisation |
//! | `plain` | the same work as plain sequential programs, which speed-ups are relative to |
//! | `compared` | the simulation compared with threads |
//! | `executor` | the interface of a runtime to its tasks |
//! | `tally` | the counters of tasks |
//! | `contenders` | the queue policies and their peers, on threads |
//! | `simulated` | the queue policies on virtual cores |

mod case;
mod compared;
mod contenders;
pub(crate) mod executor;
mod experiment;
pub(crate) mod graph;
mod options;
mod plain;
mod simulated;
pub(crate) mod tally;
mod work;

pub use options::PoolsOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &PoolsOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
