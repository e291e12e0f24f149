//! Implements the scan experiment: batches of requests for airline bookings.
//!
//! A batch applies its changes in order, and then answers its queries on the resulting snapshot.
//! The column store answers all queries by one scan. Databases answer them one after another, by
//! indexes or scans, or by joins of the batch with the table. Every answer of every contender is
//! compared with an oracle's, and so are the tables after each turn.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `findings` | latencies, costs of loading, and comparisons by batch size |
//! | [`bookings`] | the rows |
//! | [`mod@arrow`] | the rows in Arrow's format |
//! | [`requests`] | queries, changes and batches |
//! | [`database`] | the interface of all contenders |
//! | [`oracle`] | a table in plain Rust with the expected answers |
//! | `column_store` | the column store |
//! | `chunks` | the rows of its chunks |
//! | `contenders` | the contenders |
//! | `noise` | the column store beside competing processes |
//! | `pages` | the nodes of the partitions' memory |
//! | `single_queries` | the latency of single queries at a steady rate |

pub mod arrow;
pub mod bookings;
mod chunks;
mod column_store;
mod contenders;
pub mod database;
mod experiment;
mod findings;
mod noise;
mod options;
pub mod oracle;
mod pages;
pub mod requests;
mod single_queries;

pub use noise::{Burn, burn};
pub use options::ScanOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::Lineup;

/// The unit of throughput.
const UNIT: &str = "requests/s";

/// Describes what a scan runs with: the chunks and the contenders.
fn describe_means<T, M>(chunks: &chunks::Chunks, lineup: &Lineup<T, M>) -> String {
    format!("{chunks}\n{}", lineup.describe())
}

/// Runs the experiment.
pub fn run(options: &ScanOptions) -> Result<(), Failure> {
    let common = &options.common;
    match (options.competitors, options.load) {
        _ if options.pages => pages::Pages::new(options)?.carry_out(common),
        (Some(competitors), _) => noise::Noise::new(options, competitors)?.carry_out(common),
        (None, Some(percent)) => single_queries::SingleQueries::new(options, percent)?.carry_out(common),
        (None, None) => experiment::Experiment::new(options)?.carry_out(common),
    }
}
