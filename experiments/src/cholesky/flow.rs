//! Factorisation as dataflow: every task accesses one object, and sends results to the objects that
//! need them.
//!
//! A tile subtracts products of finished tiles, in any order, and receives its column's factor.
//! When it has received all, it is finished, and its task sends it to the panel of its column. The
//! panel pairs it with each tile that arrived before: a tile further right waits for the product of
//! these two.

use crate::matrix::kernels::{divide, factorise, subtract_product};
use crate::matrix::tiles::{Lower, Tile};
use std::mem::take;
use std::sync::Arc;
use xtasking::{Context, JoinError, Object, Plain, Priority, Promise, Runtime};

/// A finished tile, which does not change any more.
type FinishedTile = Arc<Tile>;
/// The objects of all tiles, by row.
type TileObjects = Arc<Vec<Vec<Object<Plain<PendingTile>>>>>;

/// A tile that is not finished yet.
struct PendingTile {
    row: usize,
    tile: Tile,
    /// Inputs still to come: products, and the factor if the tile is below the diagonal.
    missing: usize,
    factor: Option<FinishedTile>,
    panel: Object<Plain<Panel>>,
}

/// The finished tiles of a column with their rows, the factor first.
struct Panel {
    column: usize,
    finished: Vec<(usize, FinishedTile)>,
    /// `None` once the column is complete, as tiles refer to their panels.
    tiles: Option<TileObjects>,
    result: Object<Plain<Columns>>,
}

/// The complete columns.
struct Columns {
    complete: Vec<Vec<(usize, FinishedTile)>>,
    missing: usize,
    promise: Option<Promise<Lower>>,
}

/// Factorises a matrix.
pub(super) fn factor(rt: &Runtime, matrix: Lower) -> Result<Lower, JoinError> {
    let count = matrix.count();
    let (promise, handle) = rt.promise();
    let columns = Columns { complete: vec![Vec::new(); count], missing: count, promise: Some(promise) };
    let result = rt.plain(columns).build();
    let panel = |column| Panel { column, finished: Vec::new(), tiles: None, result: result.clone() };
    let panels: Vec<Object<Plain<Panel>>> =
        (0..count).map(|column| rt.plain(panel(column)).build()).collect();
    let pending_tile = |row, (column, tile): (usize, Tile)| {
        let missing = column + usize::from(column < row);
        rt.plain(PendingTile { row, tile, missing, factor: None, panel: panels[column].clone() }).build()
    };
    let row = |(row, tiles): (usize, Vec<Tile>)| {
        tiles.into_iter().enumerate().map(|tile| pending_tile(row, tile)).collect()
    };
    let tiles: TileObjects = Arc::new(matrix.rows.into_iter().enumerate().map(row).collect());
    // All panels get the tiles before the first tile is finished.
    let group = rt.group();
    for panel in &panels {
        let tiles = tiles.clone();
        rt.task(panel.write()).of(&group).spawn(|panel, _| panel.tiles = Some(tiles));
    }
    group.wait()?;
    rt.task(tiles[0][0].write()).spawn(|first, cx| first.finish(cx));
    handle.join()
}

impl PendingTile {
    fn subtract(&mut self, left: &Tile, right: &Tile, cx: &mut Context) {
        subtract_product(&mut self.tile, left, right);
        self.receive_input(cx);
    }

    fn receive_input(&mut self, cx: &mut Context) {
        self.missing -= 1;
        if self.missing == 0 {
            self.finish(cx);
        }
    }

    fn finish(&mut self, cx: &mut Context) {
        match &self.factor {
            Some(factor) => divide(&mut self.tile, factor),
            None => factorise(&mut self.tile),
        }
        let (row, tile) = (self.row, Arc::new(take(&mut self.tile)));
        // High priority, because other tasks wait for it.
        cx.task(self.panel.write())
            .priority(Priority::High)
            .spawn(move |panel, cx| panel.receive(row, tile, cx));
    }
}

impl Panel {
    fn receive(&mut self, row: usize, tile: FinishedTile, cx: &mut Context) {
        let tiles = self.tiles.as_ref().expect("the panel has them until its last tile");
        if row == self.column {
            for target in &tiles[row + 1..] {
                let factor = tile.clone();
                cx.task(target[row].write()).spawn(|target, cx| {
                    target.factor = Some(factor);
                    target.receive_input(cx);
                });
            }
        } else {
            let itself = (row, tile.clone());
            // Skips the factor.
            for (other, with) in self.finished.iter().skip(1).chain([&itself]) {
                let (left, right) = if row > *other { (&tile, with) } else { (with, &tile) };
                let (left, right) = (left.clone(), right.clone());
                let target = &tiles[row.max(*other)][row.min(*other)];
                cx.task(target.write()).spawn(move |target, cx| target.subtract(&left, &right, cx));
            }
        }
        let last = self.column + self.finished.len() + 1 == tiles.len();
        self.finished.push((row, tile));
        if last {
            self.tiles = None;
            let (column, finished) = (self.column, take(&mut self.finished));
            cx.task(self.result.write()).spawn(move |result, _| result.receive(column, finished));
        }
    }
}

impl Columns {
    fn receive(&mut self, column: usize, finished: Vec<(usize, FinishedTile)>) {
        self.complete[column] = finished;
        self.missing -= 1;
        if self.missing > 0 {
            return;
        }
        let mut rows = vec![Vec::new(); self.complete.len()];
        for (row, tile) in take(&mut self.complete).into_iter().flatten() {
            // Clones if the last task that read the tile still holds a reference.
            rows[row].push(Arc::unwrap_or_clone(tile));
        }
        if let Some(promise) = self.promise.take() {
            promise.fulfil(Lower { rows });
        }
    }
}
