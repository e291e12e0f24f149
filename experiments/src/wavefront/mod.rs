//! The wavefront experiment: an edit distance by dynamic programming, in a grid of blocks, each of
//! which waits for the block above it and for the block to its left.
//!
//! A block of 8 × 8 cells takes a fraction of a microsecond, so the overhead of a task with two
//! dependencies decides. A result is the wall-clock time, of which the last row of cells is
//! compared.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `experiment` | options checked and completed, turns and conclusion |
//! | `grid` | the two texts, and the cells of a block |
//! | `annotated` | a task for each block, annotated with the edges that it changes |
//! | `columns` | a task for each block, annotated with its column |
//! | `counters` | a task for each block, spawned by the last block that it waits for |
//! | `diagonals` | parallel loops over the blocks of each diagonal |
//! | `contenders` | the contenders by name |

mod annotated;
mod columns;
mod contenders;
mod counters;
mod diagonals;
mod experiment;
mod grid;
mod options;

pub use options::WavefrontOptions;

use xtasking_harness::experiment::Experiment as _;
use xtasking_harness::failure::Failure;

/// Runs the experiment.
pub fn run(options: &WavefrontOptions) -> Result<(), Failure> {
    experiment::Experiment::new(options)?.carry_out(&options.common)
}
