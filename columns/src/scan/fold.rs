//! Rows that are folded for many queries at once.
//!
//! Queries that make the same of rows, and ask for ranges of one column besides, share *cells*: between two neighbouring ends
//! of their ranges all rows concern the same queries, so each row is added to one cell, however many of them it concerns. What
//! a query has found is made of its cells in the end.

use super::Pair;
use super::spans::{NOBODY, Span, Spans};
use crate::chunk::Chunk;
use crate::value::Keys;
use std::ops::Range;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Fold {
    column: usize,
    keys: Keys,
    shape: usize,
    intervals: Intervals,
}

/// Where the cell of a key is found.
#[derive(Debug)]
enum Intervals {
    /// Where each interval but the first begins, and the cell of each. A few are compared all at once, without a branch, as
    /// nobody could foresee it.
    Few { begins: [u64; FEW], count: usize, cells: [u32; FEW + 1] },
    /// With the first of the cells.
    Many { spans: Spans, first: u32 },
}

const FEW: usize = 8;

/// The cells of an index.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// How many there are for each shape of queries, up to the last that has any.
    pub counts: Vec<u32>,
    /// Queries, and some cells of each. All of a query's are of the same shape.
    pub queries: Vec<(u32, Range<u32>)>,
}

impl Fold {
    /// Of queries of a shape, with their ranges of a column.
    pub fn new(column: usize, keys: Keys, ranges: &[Span], shape: usize, cells: &mut Cells) -> Self {
        let spans = Spans::new(ranges);
        if cells.counts.len() <= shape {
            cells.counts.resize(shape + 1, 0);
        }
        let first = cells.counts[shape];
        cells.counts[shape] += spans.slots() as u32;
        cells
            .queries
            .extend(spans.queries().map(|(query, slots)| (query, first + slots.start..first + slots.end)));
        let (from, slots) = spans.intervals();
        let intervals = if from.len() <= FEW {
            let (mut begins, mut cells) = ([u64::MAX; FEW], [NOBODY; FEW + 1]);
            begins[..from.len()].copy_from_slice(from);
            for (cell, &slot) in cells.iter_mut().zip(slots) {
                *cell = if slot == NOBODY { NOBODY } else { first + slot };
            }
            Intervals::Few { begins, count: from.len(), cells }
        } else {
            Intervals::Many { spans, first }
        };
        Self { column, keys, shape, intervals }
    }

    /// Finds the cell of a row, if it has one, and adds it to those of its shape.
    #[inline(always)]
    pub fn add(&self, chunk: &Chunk, row: u16, cells: &mut [Vec<Pair>]) {
        let (column, place) = (&chunk.columns[self.column], usize::from(row));
        let key = self.keys.of(column.words()[place]);
        let cell = match &self.intervals {
            Intervals::Few { begins, count, cells } => {
                let before: usize = begins.iter().map(|&begin| usize::from(begin <= key)).sum();
                cells[before.min(*count)]
            }
            Intervals::Many { spans, first } => spans.slot(key).map_or(NOBODY, |slot| first + slot),
        };
        if cell != NOBODY && column.valid.get(place) {
            cells[self.shape].push((cell, row));
        }
    }
}
