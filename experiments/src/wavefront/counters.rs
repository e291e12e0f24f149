//! A task for each block, spawned by the last of the two blocks that it waits for.
//!
//! A counter for each block says how many it still waits for, as a program for any library with
//! tasks would have it.

use super::grid::{Edge, Grid};
use std::mem::take;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use xtasking::Context;

/// The edges, and the progress of all blocks.
pub(super) struct Counters {
    grid: Arc<Grid>,
    edges: Edges,
    /// For each block, row by row, the number of neighbours that are not computed.
    pending: Vec<AtomicU8>,
    finished: Sender<Vec<u32>>,
}

/// The edges above all columns and to the left of all rows. A block never has to wait for its
/// edges; one that would is computed too early, and panics.
pub(super) struct Edges {
    tops: Vec<Mutex<Edge>>,
    lefts: Vec<Mutex<Edge>>,
}

impl Edges {
    /// Returns the edges before the first block.
    pub(super) fn of(grid: &Grid) -> Self {
        let tops = (0..grid.blocks).map(|column| Mutex::new(grid.top(column)));
        let lefts = (0..grid.blocks).map(|row| Mutex::new(grid.left(row)));
        Self { tops: tops.collect(), lefts: lefts.collect() }
    }

    /// Computes a block.
    pub(super) fn compute(&self, grid: &Grid, row: usize, column: usize) {
        grid.compute(row, column, &mut lock(&self.tops[column]), &mut lock(&self.lefts[row]));
    }

    /// Takes the last row of cells after all blocks.
    pub(super) fn last_row(&self) -> Vec<u32> {
        Grid::last_row(self.tops.iter().map(|top| take(&mut *lock(top))))
    }
}

fn lock(edge: &Mutex<Edge>) -> MutexGuard<'_, Edge> {
    edge.try_lock().expect("the neighbours have ended")
}

impl Counters {
    /// Creates the counters of a grid, and a receiver, which gets the last row.
    pub(super) fn of(grid: Arc<Grid>) -> (Self, Receiver<Vec<u32>>) {
        let blocks = (0..grid.blocks).flat_map(|row| (0..grid.blocks).map(move |column| (row, column)));
        let waits = |(row, column)| AtomicU8::new(u8::from(row > 0) + u8::from(column > 0));
        let pending = blocks.map(waits).collect();
        let (finished, receiver) = channel();
        (Self { edges: Edges::of(&grid), grid, pending, finished }, receiver)
    }

    /// Computes a block by this runtime, and spawns those that have only waited for this. The first
    /// one is that of row and column 0.
    pub(super) fn on_own(self: Arc<Self>, cx: &mut Context, row: usize, column: usize) {
        self.compute(row, column, |row, column| {
            let counters = self.clone();
            cx.task(()).spawn(move |(), cx| counters.on_own(cx, row, column));
        });
    }

    /// Does what [`on_own`](Self::on_own) does, in a scope of rayon.
    pub(super) fn on_rayon<'scope>(&'scope self, scope: &rayon::Scope<'scope>, row: usize, column: usize) {
        self.compute(row, column, |row, column| {
            scope.spawn(move |scope| self.on_rayon(scope, row, column));
        });
    }

    /// Computes a block, and calls `spawn` with each of those that have only waited for this.
    fn compute(&self, row: usize, column: usize, mut spawn: impl FnMut(usize, usize)) {
        let blocks = self.grid.blocks;
        self.edges.compute(&self.grid, row, column);
        for (row, column) in [(row, column + 1), (row + 1, column)] {
            if row == blocks || column == blocks {
                continue;
            }
            // AcqRel: the second decrement synchronizes with the first, so the spawned block sees
            // both edges.
            if self.pending[row * blocks + column].fetch_sub(1, Ordering::AcqRel) == 1 {
                spawn(row, column);
            }
        }
        if row + 1 == blocks && column + 1 == blocks {
            // The receiver may have been dropped.
            let _ = self.finished.send(self.edges.last_row());
        }
    }
}
