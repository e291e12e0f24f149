//! A task for each block, annotated with the two edges that it changes.
//!
//! The edge above a column and the edge to the left of a row are objects. All tasks are spawned in
//! the order of the sequential program, and those at an object run in this order. So a block runs
//! after the one above, which has the same column, and after the one to the left, which has the
//! same row.

use super::grid::{Edge, Grid};
use std::mem::take;
use std::sync::Arc;
use xtasking::{Context, Handle, JoinError, Object, Plain, Runtime, primitive::Sequencing};

/// Edges by row or column.
type Edges = Vec<Object<Plain<Edge>>>;

/// Computes the last row.
pub(super) fn last_row(rt: &Runtime, grid: Arc<Grid>) -> Result<Vec<u32>, JoinError> {
    let object = |edge: Edge| rt.plain(edge).pin(Sequencing).build();
    let tops: Edges = (0..grid.blocks).map(|column| object(grid.top(column))).collect();
    let lefts: Edges = (0..grid.blocks).map(|row| object(grid.left(row))).collect();
    let spawned = rt.task(()).submit(move |(), cx| spawn_all(cx, &grid, &tops, &lefts)).join()?;
    let tops = spawned.into_iter().map(Handle::join).collect::<Result<Vec<_>, _>>()?;
    Ok(Grid::last_row(tops))
}

/// Spawns all tasks. Returns the handles of the edges below the last row.
fn spawn_all(cx: &mut Context, grid: &Arc<Grid>, tops: &Edges, lefts: &Edges) -> Vec<Handle<Edge>> {
    for (row, left) in lefts.iter().enumerate() {
        for (column, top) in tops.iter().enumerate() {
            let grid = grid.clone();
            cx.task((top.write(), left.write()))
                .spawn(move |(top, left), _| grid.compute(row, column, top, left));
        }
    }
    // Queued after all other tasks at an edge.
    tops.iter().map(|top| cx.task(top.write()).submit(|top, _| take(top))).collect()
}
