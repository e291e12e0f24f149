//! The queries that a row concerns.
//!
//! Each query of a batch is entered in an index by one of its tests, the one that the fewest rows pass as far as the bounds
//! of the columns tell. What is asked of a column cuts its keys into *slots*, each of which concerns the same queries
//! throughout: a pass over a chunk finds the slot of each row and puts the rows in order of slots, so that each query finds
//! those that pass its first test side by side. They are then refined by what is left to be tested.

mod hits;
mod index;
mod points;
mod refine;
mod spans;

pub(crate) use index::{Bounds, Index};

use crate::chunk::{Bits, Chunk};
use hits::Hits;
use index::{Entered, Nested};

/// A pass over chunks: what it needs of memory.
#[derive(Default)]
pub(crate) struct Scan {
    hits: Hits,
    nested: Hits,
    passed: Vec<u16>,
}

impl Scan {
    /// Tells each query which of some rows of a chunk pass all its tests, if any do.
    pub fn pass(&mut self, index: &Index, chunk: &Chunk, rows: &Bits, mut each: impl FnMut(usize, &[u16])) {
        let Self { hits, nested, passed } = self;
        let mut tell = |query: u32, rows: &[u16]| {
            let query = query as usize;
            let rest = index.rest(query);
            if rest.is_empty() {
                each(query, rows);
                return;
            }
            passed.clear();
            passed.extend_from_slice(rows);
            refine::refine(rest, chunk, passed);
            if !passed.is_empty() {
                each(query, passed);
            }
        };
        for entered in &index.columns {
            let points = &entered.points;
            if points.slots() > 0 {
                entered.find_points(chunk, rows, hits);
                hits.by_slot(points.slots(), |slot, rows| {
                    let mut alone = points.queries(slot);
                    if let Some(inner) = entered.nested(slot) {
                        alone = &inner.others;
                        inner.find(chunk, rows, nested);
                        inner.spans.tell(nested, &mut tell);
                    }
                    alone.iter().for_each(|&query| tell(query, rows));
                });
            }
            if entered.spans.slots() > 0 {
                entered.find_spans(chunk, rows, hits);
                entered.spans.tell(hits, &mut tell);
            }
        }
        if !index.others.is_empty() {
            let mut all = Vec::new();
            rows.for_each(|row| all.push(row as u16));
            index.others.iter().for_each(|&query| tell(query, &all));
        }
    }

    /// All pairs of a query and a row of the chunk that passes all its tests, by row and then by query.
    pub fn by_row(&mut self, index: &Index, chunk: &Chunk) -> Vec<(u16, u32)> {
        let mut all = Vec::new();
        self.pass(index, chunk, &chunk.live, |query, rows| {
            all.extend(rows.iter().map(|&row| (row, query as u32)))
        });
        all.sort_unstable();
        all
    }
}

impl Entered {
    fn find_points(&self, chunk: &Chunk, rows: &Bits, hits: &mut Hits) {
        hits.clear();
        let column = &chunk.columns[self.column];
        let rows = |block| rows.block(block) & column.valid.block(block);
        self.points.find(column.words(), |word| self.kind.key(word), rows, |slot, row| hits.add(slot, row));
    }

    fn find_spans(&self, chunk: &Chunk, rows: &Bits, hits: &mut Hits) {
        hits.clear();
        let column = &chunk.columns[self.column];
        let words = column.words();
        rows.for_each_of_both(&column.valid, |row| {
            self.spans.find(self.kind.key(words[row]), row as u16, hits);
        });
    }
}

impl Nested {
    fn find(&self, chunk: &Chunk, rows: &[u16], hits: &mut Hits) {
        hits.clear();
        let column = &chunk.columns[self.column];
        let words = column.words();
        for &row in rows {
            let place = usize::from(row);
            if column.valid.get(place) {
                self.spans.find(self.kind.key(words[place]), row, hits);
            }
        }
    }
}
