//! Implements STMBench7 from its description: a CAD model with indexes, and operations that range
//! from a read of one part to a traversal of all. (Guerraoui, Kapałka, Vitek, "STMBench7: A
//! Benchmark for Software Transactional Memory", EuroSys 2007.)
//!
//! A *world* is an instance of the model.
//!
//! | module | what it holds |
//! |---|---|
//! | `sizes` | the size of a world |
//! | `dates` | dates and their updates |
//! | `text` | the texts of documents and of the manual |
//! | `graph` | the graph of the atomic parts of a composite part |
//! | `ids` | free ids |
//! | `pages` | pages of the indexes |
//! | `node` | nodes of any world |
//! | `parts` | the values of nodes |
//! | `layout` | the nodes that never move |
//! | `world` | the interface of a world |
//! | `plain` | a sequential world |
//! | `concurrent` | a concurrent world on granules |
//! | `tree` | a concurrent world on a tree of the runtime |
//! | `medium` | the medium-grained locks of the benchmark |
//! | `contenders` | the contenders |
//! | `experiment`, `options` | the experiment and its command line |
//! | `snapshot` | a snapshot of what a plan names |
//! | `survey` | a snapshot taken without a claim |
//! | `turn` | all operations on a fresh world |
//! | `bound` | what no schedule of a turn can exceed |
//! | `delays` | the latency of short writers |
//! | `index` | updates of the indexes |
//! | `build` | a world from a seed |
//! | `find` | paths from objects to other objects |
//! | `effort` | the effort of operations |
//! | `outcome` | the outcome of an operation |
//! | `operations` | the 45 operations, each with a plan |
//! | `mix` | the probabilities of operations |
//! | `invariants` | the invariants of a world between operations |
//! | `replay` | a sequential replay of a turn |
//! | `checked` | a world for tests that checks claims |
//!
//! Where the description leaves something open: an operation on several random ids or titles skips
//! those that do not exist, and one on a single id fails. A new assembly is a sibling of a random
//! one, complete down to base assemblies, which use random composite parts like the initial ones. A
//! swap or an update made four times has no effect, but is made four times all the same.

#![forbid(unsafe_code)]

mod bound;
mod build;
#[cfg(test)]
mod checked;
mod concurrent;
mod contenders;
mod dates;
mod delays;
mod effort;
mod experiment;
mod find;
mod graph;
mod ids;
mod index;
mod invariants;
mod layout;
mod medium;
mod mix;
mod node;
mod operations;
mod options;
mod outcome;
mod pages;
mod parts;
mod plain;
mod replay;
mod sizes;
mod snapshot;
mod survey;
mod text;
mod tree;
mod turn;
mod world;

pub use options::Options;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
