//! The graph experiment: breadth-first search on a random graph that is larger than the caches.
//!
//! The edges of a vertex lead anywhere, so each costs a cache miss. The graph is directed, each end
//! of an edge drawn uniformly, in *compressed sparse rows*: the targets of all edges in one array,
//! vertex by vertex. A search gives the distance of every vertex from vertex 0.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `csr` | the graph |
//! | `search` | the search that checks others |
//! | `bitmaps` | a search by bitmaps in both directions |
//! | `claims` | a search by atomic claims of vertices |
//! | `contenders` | the contenders, a file for each library |

mod bitmaps;
mod claims;
mod contenders;
mod csr;
mod experiment;
mod options;
mod search;

pub use options::GraphOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &GraphOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
