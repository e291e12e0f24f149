//! The tasks on the tiles of a matrix that is taken apart, as Cholesky does, and what each of them waits for.
//!
//! Every tile is worked on step by step: from it is subtracted a product of tiles of each column left of it, and then it is
//! divided by its column's factor, or, on the diagonal, becomes that factor. Each step is a task. It waits for the step
//! before and for the tiles that it reads; the last one that it has waited for spawns it.

use super::crew::Crew;
use super::tally::done;
use crate::cholesky::kernels::{divide, factorise, subtract_product};
use crate::cholesky::tiles::{Lower, Tile};
use crate::ycsb::plan::Wrong;
use std::iter::once;
use std::mem::take;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, RwLock};

/// A step at a tile: its row, its column, and the column whose tiles are subtracted, or its own in the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    y: usize,
    x: usize,
    k: usize,
}

/// A tile, and how many steps have been made at it.
struct Place {
    /// There is none on virtual cores. A step that has to wait for a lock has come too early, which it says.
    tile: RwLock<Option<Tile>>,
    steps: AtomicU32,
    /// For each step, how many others it still waits for.
    waits: Box<[AtomicU8]>,
}

/// All of it, for one time.
pub(super) struct Graph {
    places: Vec<Vec<Place>>,
    /// What it all began with, if it is there.
    matrix: Option<Lower>,
    /// Virtual nanoseconds that subtracting a product takes.
    product: u64,
    /// To whom it goes when all is done.
    ended: Option<Sender<Arc<Self>>>,
}

impl Graph {
    /// Takes a matrix apart.
    pub(super) fn of(matrix: Lower) -> Self {
        let count = matrix.count();
        let tiles = matrix.rows.clone();
        Self { matrix: Some(matrix), ..Self::with(count, tiles.into_iter().flatten().map(Some), 0) }
    }

    /// Of so many rows of tiles that nobody computes, by steps that take some time on virtual cores.
    pub(super) fn pretended(count: usize, product: u64) -> Self {
        Self::with(count, std::iter::repeat_with(|| None), product)
    }

    fn with(count: usize, mut tiles: impl Iterator<Item = Option<Tile>>, product: u64) -> Self {
        let mut place = |y, x| Place {
            tile: RwLock::new(tiles.next().expect("a tile for each place")),
            steps: AtomicU32::new(0),
            waits: (0..=x).map(|k| AtomicU8::new(Step { y, x, k }.waits_for())).collect(),
        };
        let places = (0..count).map(|y| (0..=y).map(|x| place(y, x)).collect()).collect();
        Self { places, matrix: None, product, ended: None }
    }

    /// The same, which comes back when it is done. Whoever waits should have no part in it: if a step is lost, it is gone
    /// with the last one, and nothing comes.
    pub(super) fn that_returns(self) -> (Self, Receiver<Arc<Self>>) {
        let (sender, receiver) = channel();
        (Self { ended: Some(sender), ..self }, receiver)
    }

    /// How many there are.
    pub(super) fn tasks(&self) -> u64 {
        let count = self.places.len() as u64;
        count * (count + 1) * (count + 2) / 6
    }

    /// The first step waits for nothing.
    pub(super) fn begin<C: Crew>(self: Arc<Self>, at: C::At<'_>) {
        self.make::<C>(at, Step { y: 0, x: 0, k: 0 });
    }

    /// Makes a step, and spawns what has waited for it alone.
    fn make<C: Crew>(self: Arc<Self>, mut at: C::At<'_>, step: Step) {
        let place = &self.places[step.y][step.x];
        if !C::spend(&mut at, step.takes(self.product)) {
            self.compute(step);
        }
        // Relaxed: the next step comes after this one, by `waits`.
        let before = place.steps.swap(step.k as u32 + 1, Ordering::Relaxed);
        let in_order = before == step.k as u32;
        for next in step.releases(self.places.len()) {
            // AcqRel: the last one comes after all that the others have done, and so does whom it spawns.
            if self.places[next.y][next.x].waits[next.k].fetch_sub(1, Ordering::AcqRel) == 1 {
                let graph = self.clone();
                C::spawn(&mut at, move |at| graph.make::<C>(at, next));
            }
        }
        done(C::worker(&at), in_order.into());
        if let (Some(ended), true) = (&self.ended, step.is_last(self.places.len())) {
            // Who does not listen does not want it.
            let _ = ended.send(self.clone());
        }
    }

    fn compute(&self, Step { y, x, k }: Step) {
        const EARLY: &str = "whoever works on the tile has ended before";
        let mut place = self.places[y][x].tile.try_write().expect(EARLY);
        let tile = place.as_mut().expect("true cores have true tiles");
        let read = |y: usize, x: usize| self.places[y][x].tile.try_read().expect(EARLY);
        let known = "true cores have true tiles";
        if k < x {
            let left = read(y, k);
            let left = left.as_ref().expect(known);
            if x == y {
                subtract_product(tile, left, left);
            } else {
                subtract_product(tile, left, read(x, k).as_ref().expect(known));
            }
        } else if x < y {
            divide(tile, read(x, x).as_ref().expect(known));
        } else {
            factorise(tile);
        }
    }

    /// The factor, where all steps are done.
    pub(super) fn factor(&self) -> Result<Lower, Wrong> {
        let tile = |place: &Place| {
            let mut tile =
                place.tile.try_write().map_err(|_| Wrong::new("a task has not ended".to_string()))?;
            take(&mut *tile).ok_or_else(|| Wrong::new("a tile is lost".to_string()))
        };
        let rows = self.places.iter().map(|row| row.iter().map(tile).collect());
        Ok(Lower { rows: rows.collect::<Result<_, _>>()? })
    }

    /// Checks the factor, if it was computed. Whether all steps came in order is in the sum of the traces.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        match &self.matrix {
            Some(matrix) => self.factor()?.check(matrix),
            None => Ok(()),
        }
    }
}

impl Step {
    /// For how many others it waits.
    fn waits_for(self) -> u8 {
        let Self { y, x, k } = self;
        let before = u8::from(k > 0);
        match (k < x, x == y) {
            // What is left of it, in its own row and in that of its column.
            (true, false) => before + 2,
            (true, true) => before + 1,
            // The factor of its column.
            (false, false) => before + 1,
            (false, true) => before,
        }
    }

    /// Who waits for it, of so many rows.
    fn releases(self, count: usize) -> Box<dyn Iterator<Item = Self>> {
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

    /// Whether all others come before it, of so many rows.
    fn is_last(self, count: usize) -> bool {
        self.k + 1 == count
    }

    /// Virtual nanoseconds, by what a subtraction takes: twice as much as a division, six times as much as a factor.
    fn takes(self, product: u64) -> u64 {
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
    fn every_step_is_released_by_as_many_as_it_waits_for() {
        for count in 1..9 {
            assert_eq!(steps(count).count() as u64, Graph::pretended(count, 0).tasks());
            let released: Vec<_> = steps(count).flat_map(|step| step.releases(count)).collect();
            for step in steps(count) {
                let waits = released.iter().filter(|&&next| next == step).count();
                assert_eq!(waits, usize::from(step.waits_for()), "{step:?} of {count}");
                assert_eq!(step.is_last(count), step.releases(count).next().is_none(), "{step:?} of {count}");
            }
        }
    }
}
