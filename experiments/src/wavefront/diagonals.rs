//! Parallel loops over the blocks of each diagonal, which do not wait for each other.

use super::counters::Edges;
use super::grid::Grid;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::ops::Range;
use xtasking::Fork;

/// Computes the last row. `for_each` runs a function on each number of a range, in any order,
/// before it returns.
fn last_row(grid: &Grid, mut for_each: impl FnMut(Range<usize>, &(dyn Fn(usize) + Sync))) -> Vec<u32> {
    let edges = Edges::of(grid);
    for diagonal in 0..2 * grid.blocks - 1 {
        // The rows in which the diagonal has a block.
        let rows = (diagonal + 1).saturating_sub(grid.blocks)..grid.blocks.min(diagonal + 1);
        for_each(rows, &|row| edges.compute(grid, row, diagonal - row));
    }
    edges.last_row()
}

/// Computes the last row by this runtime's joins.
pub(super) fn on_own(grid: &Grid, mut cx: Fork<'_>) -> Vec<u32> {
    last_row(grid, |rows, compute| cx.over(rows).grain(1).for_each(compute))
}

/// Computes the last row in the current pool of rayon.
pub(super) fn on_rayon(grid: &Grid) -> Vec<u32> {
    last_row(grid, |rows, compute| rows.into_par_iter().for_each(compute))
}
