//! The task graph of tiled Cholesky factorisation, with explicit dependency counters.
//!
//! Every tile goes through steps: for each column to its left it subtracts a product of two tiles,
//! and then it is divided by its column's factor or, on the diagonal, factorised. Each step is a
//! task. It depends on the step before and on the tiles that it reads; the last predecessor to end
//! spawns it.

use super::executor::Executor;
use super::tally::done;
use crate::matrix::kernels::{divide, factorise, subtract_product};
use crate::matrix::tiles::{Lower, Tile};
use std::iter::once;
use std::mem::take;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, RwLock};
use xtasking_harness::failure::Wrong;

/// A step of a tile: its row `y`, its column `x`, and the column `k` whose product is subtracted;
/// `k == x` is the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    y: usize,
    x: usize,
    k: usize,
}

/// A tile, and the progress of its steps.
struct TileState {
    /// `None` on virtual cores. A step never has to wait for the lock; one that would runs too
    /// early, and panics.
    tile: RwLock<Option<Tile>>,
    steps: AtomicU32,
    /// For each step, the number of predecessors that have not finished.
    pending: Box<[AtomicU8]>,
}

/// A task graph, for one run.
pub(crate) struct Graph {
    tiles: Vec<Vec<TileState>>,
    /// The original matrix, unless tiles are only modelled.
    matrix: Option<Lower>,
    /// Virtual nanoseconds of subtracting a product.
    product: u64,
    /// Receives the graph after the last step.
    finished: Option<Sender<Arc<Self>>>,
}

impl Graph {
    /// Creates the graph that factorises a matrix.
    pub(crate) fn of(matrix: Lower) -> Self {
        let count = matrix.count();
        let matrix_tiles = matrix.rows.clone().into_iter().flatten();
        Self { matrix: Some(matrix), ..Self::with(count, matrix_tiles.map(Some), 0) }
    }

    /// Creates a graph with `count` rows of tiles that are not computed. On virtual cores its steps
    /// take time in proportion to `product`, in nanoseconds.
    pub(crate) fn modelled(count: usize, product: u64) -> Self {
        Self::with(count, std::iter::repeat_with(|| None), product)
    }

    fn with(count: usize, mut contents: impl Iterator<Item = Option<Tile>>, product: u64) -> Self {
        let mut tile = |y, x| TileState {
            tile: RwLock::new(contents.next().expect("the contents of each tile")),
            steps: AtomicU32::new(0),
            pending: (0..=x).map(|k| AtomicU8::new(Step { y, x, k }.predecessors())).collect(),
        };
        let tiles = (0..count).map(|y| (0..=y).map(|x| tile(y, x)).collect()).collect();
        Self { tiles, matrix: None, product, finished: None }
    }

    /// Adds a receiver, which gets the graph after the last step. The waiting thread should keep no
    /// reference to the graph: if a step is lost, the graph is dropped and the receiver reports an
    /// error instead of blocking forever.
    pub(crate) fn with_receiver(self) -> (Self, Receiver<Arc<Self>>) {
        let (sender, receiver) = channel();
        (Self { finished: Some(sender), ..self }, receiver)
    }

    /// Returns the matrix to factorise, unless tiles are only modelled.
    pub(super) fn matrix(&self) -> Option<&Lower> {
        self.matrix.as_ref()
    }

    /// Returns the virtual nanoseconds of all steps together.
    pub(super) fn virtual_time(&self) -> u64 {
        let count = self.tiles.len() as u64;
        let (below, subtractions) = (count * (count - 1) / 2, self.tasks() - count * (count + 1) / 2);
        // A factorisation for each tile on the diagonal, a division for each tile below.
        subtractions * self.product + below * (self.product / 2) + count * (self.product / 6)
    }

    /// Returns the number of tasks.
    pub(crate) fn tasks(&self) -> u64 {
        let count = self.tiles.len() as u64;
        count * (count + 1) * (count + 2) / 6
    }

    /// Runs the first step, which has no predecessors.
    pub(crate) fn begin<C: Executor>(self: Arc<Self>, cx: C::Cx<'_>) {
        self.run::<C>(cx, Step { y: 0, x: 0, k: 0 });
    }

    /// Runs a step, and spawns those for which it was the last predecessor.
    fn run<C: Executor>(self: Arc<Self>, mut cx: C::Cx<'_>, step: Step) {
        let tile = &self.tiles[step.y][step.x];
        if !C::spend(&mut cx, step.virtual_time(self.product)) {
            self.compute(step);
        }
        // Relaxed: `pending` orders this before the next step.
        let before = tile.steps.swap(step.k as u32 + 1, Ordering::Relaxed);
        let in_order = before == step.k as u32;
        for next in step.successors(self.tiles.len()) {
            // AcqRel: the last decrement synchronizes with all others, so the spawned step sees the
            // results of all predecessors.
            if self.tiles[next.y][next.x].pending[next.k].fetch_sub(1, Ordering::AcqRel) == 1 {
                let graph = self.clone();
                C::spawn(&mut cx, move |cx| graph.run::<C>(cx, next));
            }
        }
        done(C::worker(&cx), in_order.into());
        if let (Some(finished), true) = (&self.finished, step.is_last(self.tiles.len())) {
            // The receiver may have been dropped.
            let _ = finished.send(self.clone());
        }
    }

    fn compute(&self, Step { y, x, k }: Step) {
        const EARLY: &str = "predecessors have ended";
        const CONTENTS: &str = "tiles on threads have contents";
        let mut guard = self.tiles[y][x].tile.try_write().expect(EARLY);
        let tile = guard.as_mut().expect(CONTENTS);
        let read = |y: usize, x: usize| self.tiles[y][x].tile.try_read().expect(EARLY);
        if k < x {
            let left = read(y, k);
            let left = left.as_ref().expect(CONTENTS);
            if x == y {
                subtract_product(tile, left, left);
            } else {
                subtract_product(tile, left, read(x, k).as_ref().expect(CONTENTS));
            }
        } else if x < y {
            divide(tile, read(x, x).as_ref().expect(CONTENTS));
        } else {
            factorise(tile);
        }
    }

    /// Takes the factor out after all steps.
    ///
    /// # Errors
    ///
    /// If a step still runs or a tile has no contents.
    pub(crate) fn factor(&self) -> Result<Lower, Wrong> {
        let take_tile = |state: &TileState| {
            let mut tile =
                state.tile.try_write().map_err(|_| Wrong::new("a task has not ended".to_string()))?;
            take(&mut *tile).ok_or_else(|| Wrong::new("a tile is lost".to_string()))
        };
        let rows = self.tiles.iter().map(|row| row.iter().map(take_tile).collect());
        Ok(Lower { rows: rows.collect::<Result<_, _>>()? })
    }

    /// Checks the factor, if it was computed. The order of steps is checked by the sum of the
    /// counters.
    ///
    /// # Errors
    ///
    /// If the factor is wrong or incomplete.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        match &self.matrix {
            Some(matrix) => self.factor()?.check(matrix),
            None => Ok(()),
        }
    }
}

impl Step {
    /// Returns the number of predecessors.
    fn predecessors(self) -> u8 {
        let Self { y, x, k } = self;
        let before = u8::from(k > 0);
        match (k < x, x == y) {
            // Two tiles to its left: in its row, and in the row of its column's number.
            (true, false) => before + 2,
            (true, true) => before + 1,
            // Its column's factor.
            (false, false) => before + 1,
            (false, true) => before,
        }
    }

    /// Returns the successors in a graph with `count` rows of tiles.
    fn successors(self, count: usize) -> Box<dyn Iterator<Item = Self>> {
        let Self { y, x, k } = self;
        if k < x {
            Box::new(once(Self { y, x, k: k + 1 }))
        } else if x == y {
            Box::new((y + 1..count).map(move |y| Self { y, x, k }))
        } else {
            let right = (x + 1..=y).map(move |x| Self { y, x, k });
            Box::new(right.chain((y + 1..count).map(move |below| Self { y: below, x: y, k })))
        }
    }

    /// Returns true if this is the last step of a graph with `count` rows of tiles.
    fn is_last(self, count: usize) -> bool {
        self.k + 1 == count
    }

    /// Returns the virtual nanoseconds of the step: `product` for a subtraction, half of it for a
    /// division, and a sixth for a factorisation.
    fn virtual_time(self, product: u64) -> u64 {
        match (self.k < self.x, self.x == self.y) {
            (true, _) => product,
            (false, false) => product / 2,
            (false, true) => product / 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(count: usize) -> impl Iterator<Item = Step> {
        let tiles = (0..count).flat_map(|y| (0..=y).map(move |x| (y, x)));
        tiles.flat_map(|(y, x)| (0..=x).map(move |k| Step { y, x, k }))
    }

    #[test]
    fn successors_and_predecessors_match() {
        for count in 1..9 {
            assert_eq!(steps(count).count() as u64, Graph::modelled(count, 0).tasks());
            let times = steps(count).map(|step| step.virtual_time(1600)).sum::<u64>();
            assert_eq!(times, Graph::modelled(count, 1600).virtual_time());
            let edges: Vec<_> = steps(count).flat_map(|step| step.successors(count)).collect();
            for step in steps(count) {
                let incoming = edges.iter().filter(|&&next| next == step).count();
                assert_eq!(incoming, usize::from(step.predecessors()), "{step:?} of {count}");
                assert_eq!(
                    step.is_last(count),
                    step.successors(count).next().is_none(),
                    "{step:?} of {count}"
                );
            }
        }
    }
}
