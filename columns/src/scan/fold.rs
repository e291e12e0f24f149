//! Rows that are folded for many queries at once.
//!
//! Queries that make the same of rows, and ask for ranges of one column besides, share *cells*: between two neighbouring ends
//! of their ranges all rows concern the same queries, so each row is added to one cell, however many of them it concerns. What
//! a query has found is made of its cells in the end.

use super::Pair;
use super::spans::{Span, Spans};
use crate::chunk::Chunk;
use crate::value::Keys;
use std::ops::Range;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Fold {
    column: usize,
    keys: Keys,
    spans: Spans,
    shape: usize,
    /// The first of its cells.
    first: u32,
}

/// The cells of an index.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// How many there are for each shape of queries, up to the last that has any.
    pub counts: Vec<u32>,
    /// Queries, and some cells of each. All of a query's are of the same shape.
    pub queries: Vec<(u32, Range<u32>)>,
}

/// So many queries are worth cells of their own.
pub(super) const WORTH: usize = 2;

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
        Self { column, keys, spans, shape, first }
    }

    /// Finds the cell of a row, if it has one, and adds it to those of its shape.
    #[inline(always)]
    pub fn add(&self, chunk: &Chunk, row: u16, cells: &mut [Vec<Pair>]) {
        let (column, place) = (&chunk.columns[self.column], usize::from(row));
        if let Some(slot) = self.spans.slot(self.keys.of(column.words()[place]))
            && column.valid.get(place)
        {
            cells[self.shape].push((self.first + slot, row));
        }
    }
}
