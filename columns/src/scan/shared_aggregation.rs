//! Aggregation that many queries share.
//!
//! Queries with the same aggregates and ranges of one column share *cells*. Between two
//! neighbouring ends of their ranges, all rows match the same queries. So each row is added to one
//! cell, however many queries it matches. In the end, the cells of each query are merged.

use super::Pair;
use super::interval_index::{IntervalIndex, KeyInterval, NO_SLOT};
use crate::chunk::Chunk;
use crate::value::KeyEncoding;
use std::ops::Range;

/// Maps rows to cells.
#[derive(Debug)]
pub(super) struct SharedAggregation {
    column: usize,
    keys: KeyEncoding,
    shape: usize,
    cells: CellLookup,
}

/// The cells of the intervals.
#[derive(Debug)]
enum CellLookup {
    /// The begin of each interval but the first, and the cell of each. All begins are compared: a
    /// branch would be unpredictable.
    Compared { begins: [u64; MAX_COMPARED_BOUNDS], count: usize, cells: [u32; MAX_COMPARED_BOUNDS + 1] },
    /// An index of the intervals, and the cell of its first slot.
    Indexed { intervals: IntervalIndex, first: u32 },
}

const MAX_COMPARED_BOUNDS: usize = 8;

/// The cells of an index.
#[derive(Debug, Default)]
pub(crate) struct AggregateCells {
    /// The number of cells of each shape, up to the last shape that has any.
    pub counts: Vec<u32>,
    /// Queries with a range of cells of their shape. A query may occur several times.
    pub queries: Vec<(u32, Range<u32>)>,
}

impl SharedAggregation {
    /// Creates cells for the ranges of a column of queries of one shape.
    pub fn new(
        column: usize,
        keys: KeyEncoding,
        ranges: &[KeyInterval],
        shape: usize,
        cells: &mut AggregateCells,
    ) -> Self {
        let intervals = IntervalIndex::new(ranges);
        if cells.counts.len() <= shape {
            cells.counts.resize(shape + 1, 0);
        }
        let first = cells.counts[shape];
        cells.counts[shape] += intervals.slots() as u32;
        cells.queries.extend(
            intervals.queries().map(|(query, slots)| (query, first + slots.start..first + slots.end)),
        );
        let (from, slots) = intervals.intervals();
        let cells = if from.len() <= MAX_COMPARED_BOUNDS {
            let (mut begins, mut cell_of) =
                ([u64::MAX; MAX_COMPARED_BOUNDS], [NO_SLOT; MAX_COMPARED_BOUNDS + 1]);
            begins[..from.len()].copy_from_slice(from);
            for (cell, &slot) in cell_of.iter_mut().zip(slots) {
                *cell = if slot == NO_SLOT { NO_SLOT } else { first + slot };
            }
            CellLookup::Compared { begins, count: from.len(), cells: cell_of }
        } else {
            CellLookup::Indexed { intervals, first }
        };
        Self { column, keys, shape, cells }
    }

    /// Adds a row to its cell, if it has one.
    #[inline(always)]
    pub fn add(&self, chunk: &Chunk, row: u16, cells: &mut [Vec<Pair>]) {
        let (column, place) = (&chunk.columns[self.column], usize::from(row));
        let key = self.keys.encode(column.words()[place]);
        let cell = match &self.cells {
            CellLookup::Compared { begins, count, cells } => {
                let before: usize = begins.iter().map(|&begin| usize::from(begin <= key)).sum();
                cells[before.min(*count)]
            }
            CellLookup::Indexed { intervals, first } => {
                intervals.slot(key).map_or(NO_SLOT, |slot| first + slot)
            }
        };
        if cell != NO_SLOT && column.valid.get(place) {
            cells[self.shape].push((cell, row));
        }
    }
}
