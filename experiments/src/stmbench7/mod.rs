//! STMBench7, written anew from its description: a CAD model with indexes, and operations from a look at one part to a walk
//! through all. (Guerraoui, Kapałka, Vitek, "STMBench7: A Benchmark for Software Transactional Memory", EuroSys 2007.)
//!
//! | module | what it holds |
//! |---|---|
//! | `sizes` | how large a world is |
//! | `dates` | dates, and how they change |
//! | `text` | the texts of documents and of the manual |
//! | `graph` | the graph of the atomic parts of a composite part |
//! | `ids` | ids that objects have not taken |
//! | `pages` | pages of the indexes |
//! | `parts` | what the nodes of a world are |
//! | `layout` | where things are that never move |
//! | `world` | what a world has to offer |
//! | `plain` | a world for one |
//! | `concurrent` | a world for many |
//! | `medium` | the medium-grained locks of the benchmark |
//! | `contenders` | who takes part |
//! | `experiment`, `options` | the options, and what is told in the end |
//! | `snapshot` | what has been named, as it was at one moment |
//! | `survey` | the same, taken without a claim |
//! | `turn` | all operations on a fresh world |
//! | `chain` | how far they could be done side by side |
//! | `delays` | how long those who write a little are under way |
//! | `index` | what the indexes are told |
//! | `build` | a world from a seed |
//! | `find` | ways from one thing to others |
//! | `effort` | what operations have to do |
//! | `outcome` | what becomes of an operation |
//! | `operations` | the 45 operations, each with a plan and what is done after it |
//! | `mix` | how often each operation is done |
//! | `invariants` | what holds in every world between operations |
//! | `replay` | what was done, done again by one |
//! | `checked` | a world for tests, that lets nobody touch what has not been claimed |
//!
//! Where the description leaves something open: an operation on several random ids or titles passes over those that there are
//! not, one on a single id fails; a new assembly is a sibling of a random one, complete down to base assemblies, which use
//! random composite parts as those in the beginning do; and a swap or an update that is made four times leaves nothing, but is
//! made four times all the same.

mod build;
mod chain;
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
mod turn;
mod world;

pub use options::Options;

use crate::experiment::Experiment as _;
use crate::failure::Failure;

/// Runs the experiment.
pub fn run(options: &Options) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
