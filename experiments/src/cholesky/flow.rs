//! A matrix taken apart by tasks that each touch one object: who has what others need sends it to them.
//!
//! A tile takes in products of finished tiles, in whatever order they come, and its column's factor; when it has all, it
//! is finished itself, and goes to its column's panel. The panel pairs it with each tile that is there already: these two
//! are what one tile to the right waits for.

use super::kernels::{divide, factorise, subtract_product};
use super::tiles::{Lower, Tile};
use std::mem::take;
use std::sync::Arc;
use xtasking::{Context, JoinError, Object, Plain, Priority, Promise, Runtime};

/// A tile that nobody changes any more.
type Finished = Arc<Tile>;
type Places = Arc<Vec<Vec<Object<Plain<Place>>>>>;

/// A tile until it is finished.
struct Place {
    row: usize,
    tile: Tile,
    /// How many products, and the factor if it is below the diagonal, have not come yet.
    missing: usize,
    factor: Option<Finished>,
    panel: Object<Plain<Panel>>,
}

/// What is finished of a column, by row, its factor first.
struct Panel {
    column: usize,
    finished: Vec<(usize, Finished)>,
    /// Dropped when the column is complete: each of them has its panel.
    places: Option<Places>,
    result: Object<Plain<Columns>>,
}

/// The columns that are complete.
struct Columns {
    complete: Vec<Vec<(usize, Finished)>>,
    missing: usize,
    promise: Option<Promise<Lower>>,
}

/// Takes a matrix apart.
pub(super) fn factor(rt: &Runtime, matrix: Lower) -> Result<Lower, JoinError> {
    let count = matrix.count();
    let (promise, handle) = rt.promise();
    let columns = Columns { complete: vec![Vec::new(); count], missing: count, promise: Some(promise) };
    let result = rt.plain(columns).build();
    let panel = |column| Panel { column, finished: Vec::new(), places: None, result: result.clone() };
    let panels: Vec<Object<Plain<Panel>>> =
        (0..count).map(|column| rt.plain(panel(column)).build()).collect();
    let place = |row, (column, tile): (usize, Tile)| {
        let missing = column + usize::from(column < row);
        rt.plain(Place { row, tile, missing, factor: None, panel: panels[column].clone() }).build()
    };
    let row = |(row, tiles): (usize, Vec<Tile>)| {
        tiles.into_iter().enumerate().map(|tile| place(row, tile)).collect()
    };
    let places: Places = Arc::new(matrix.rows.into_iter().enumerate().map(row).collect());
    // Before the first of them is finished.
    let group = rt.group();
    for panel in &panels {
        let places = places.clone();
        rt.task(panel.write()).of(&group).spawn(|panel, _| panel.places = Some(places));
    }
    group.wait()?;
    rt.task(places[0][0].write()).spawn(|first, cx| first.finish(cx));
    handle.join()
}

impl Place {
    fn subtract(&mut self, left: &Tile, right: &Tile, cx: &mut Context) {
        subtract_product(&mut self.tile, left, right);
        self.has_come(cx);
    }

    fn has_come(&mut self, cx: &mut Context) {
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
        // Others wait for it.
        cx.task(self.panel.write())
            .priority(Priority::High)
            .spawn(move |panel, cx| panel.take_in(row, tile, cx));
    }
}

impl Panel {
    fn take_in(&mut self, row: usize, tile: Finished, cx: &mut Context) {
        let places = self.places.as_ref().expect("it is there as long as there are tiles to come");
        if row == self.column {
            for place in &places[row + 1..] {
                let factor = tile.clone();
                cx.task(place[row].write()).spawn(|place, cx| {
                    place.factor = Some(factor);
                    place.has_come(cx);
                });
            }
        } else {
            let itself = (row, tile.clone());
            // All but the factor.
            for (other, with) in self.finished.iter().skip(1).chain([&itself]) {
                let (left, right) = if row > *other { (&tile, with) } else { (with, &tile) };
                let (left, right) = (left.clone(), right.clone());
                let place = &places[row.max(*other)][row.min(*other)];
                cx.task(place.write()).spawn(move |place, cx| place.subtract(&left, &right, cx));
            }
        }
        let last = self.column + self.finished.len() + 1 == places.len();
        self.finished.push((row, tile));
        if last {
            self.places = None;
            let (column, finished) = (self.column, take(&mut self.finished));
            cx.task(self.result.write()).spawn(move |result, _| result.take_in(column, finished));
        }
    }
}

impl Columns {
    fn take_in(&mut self, column: usize, finished: Vec<(usize, Finished)>) {
        self.complete[column] = finished;
        self.missing -= 1;
        if self.missing > 0 {
            return;
        }
        let mut rows = vec![Vec::new(); self.complete.len()];
        for (row, tile) in take(&mut self.complete).into_iter().flatten() {
            // The last to have used it may not have let go of it yet.
            rows[row].push(Arc::unwrap_or_clone(tile));
        }
        if let Some(promise) = self.promise.take() {
            promise.fulfil(Lower { rows });
        }
    }
}
