//! A task for each block, annotated with its column alone.
//!
//! A column is an object, with the edge above its next block. The edge to the left of a block goes
//! with the block's task, from column to column. Neighbouring columns are at home on the same
//! worker, so that few edges go to another one.

use super::grid::{Edge, Grid};
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;
use xtasking::{Context, JoinError, Object, Plain, Promise, Runtime, primitive::Sequencing};

/// Consecutive columns at home on the same worker. Most of their blocks are computed before the
/// next worker gets its first one, as tasks run in the order in which they come.
const STRIPE: usize = 8;

/// A column of blocks.
struct Column {
    grid: Arc<Grid>,
    number: usize,
    /// The row of the next block.
    row: usize,
    /// The edge above the next block.
    top: Edge,
    /// Edges to the left of later blocks. The runtime promises no order among the tasks of
    /// different blocks.
    early: BTreeMap<usize, Edge>,
    /// Gets the edge below the last block.
    result: Option<Promise<Edge>>,
    /// The column to the right.
    next: Option<Object<Plain<Column>>>,
}

/// Computes the last row.
pub(super) fn last_row(rt: &Runtime, workers: usize, grid: Arc<Grid>) -> Result<Vec<u32>, JoinError> {
    let (mut next, mut handles) = (None, Vec::new());
    for number in (0..grid.blocks).rev() {
        let (promise, handle) = rt.promise();
        let (grid, top) = (grid.clone(), grid.top(number));
        let column =
            Column { grid, number, row: 0, top, early: BTreeMap::new(), result: Some(promise), next };
        next = Some(rt.plain(column).pin(Sequencing).core(number / STRIPE % workers).build());
        handles.push(handle);
    }
    rt.task(()).spawn(move |(), cx| {
        for row in 0..grid.blocks {
            send(next.as_ref(), row, grid.left(row), cx);
        }
    });
    let tops = handles.into_iter().rev().map(|handle| handle.join()).collect::<Result<Vec<_>, _>>()?;
    Ok(Grid::last_row(tops))
}

/// Sends the edge to the left of a block to its column, if there is one.
fn send(column: Option<&Object<Plain<Column>>>, row: usize, left: Edge, cx: &mut Context) {
    if let Some(column) = column {
        cx.task(column.write()).spawn(move |column, cx| column.receive(row, left, cx));
    }
}

impl Column {
    /// Computes the block to the right of an edge, and those that have only waited for this.
    fn receive(&mut self, row: usize, mut left: Edge, cx: &mut Context) {
        if row != self.row {
            self.early.insert(row, left);
            return;
        }
        loop {
            self.grid.compute(self.row, self.number, &mut self.top, &mut left);
            send(self.next.as_ref(), self.row, left, cx);
            self.row += 1;
            match self.early.remove(&self.row) {
                Some(edge) => left = edge,
                None => break,
            }
        }
        if self.row == self.grid.blocks
            && let Some(result) = self.result.take()
        {
            result.fulfil(take(&mut self.top));
        }
    }
}
