//! The scan experiment: airline bookings, and requests for them in batches.
//!
//! A batch is a snapshot: its changes come first, in their order, and then its queries. The column store answers all of them
//! by one scan; databases answer them one after another, by indexes or scans, or by joins of the batch with the table. Every
//! answer of everybody is compared with that of a table that is known to be right, and so are the tables themselves after
//! each turn.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | the options, checked and completed before any work, and the turns |
//! | `findings` | what the table leaves out: latencies, loading, and who is ahead with which batches |
//! | [`bookings`] | the rows |
//! | [`mod@arrow`] | the rows in Arrow's format |
//! | [`requests`] | what is asked for and changed |
//! | [`database`] | what all contenders have in common |
//! | [`oracle`] | what is right |
//! | `own` | the column store |
//! | `chunks` | how many rows its chunks have, and why |
//! | `contenders` | who takes part |
//! | `noise` | the column store beside competitors for a CPU |
//! | `pages` | on which nodes the partitions' memory is |
//! | `served` | single queries at a steady rate, and how long they take |

pub mod arrow;
pub mod bookings;
mod chunks;
mod contenders;
pub mod database;
mod experiment;
mod findings;
mod noise;
mod options;
pub mod oracle;
mod own;
mod pages;
pub mod requests;
mod served;

pub use noise::{Burn, burn};
pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    match (options.competitors, options.load) {
        _ if options.pages => pages::Pages::new(options)?.carry_out(common),
        (Some(competitors), _) => noise::Noise::new(options, competitors)?.carry_out(common),
        (None, Some(percent)) => served::Served::new(options, percent)?.carry_out(common),
        (None, None) => experiment::Experiment::new(options)?.carry_out(common),
    }
}
