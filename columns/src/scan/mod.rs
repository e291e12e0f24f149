//! The shared scan: an index of a batch's queries, probed with the rows of a chunk.
//!
//! The index holds each query under its access path: its most selective test, or a composite key of
//! several columns. The keys of a column that queries compare with are divided into *slots*. All
//! rows of a slot match the same queries on that column.
//!
//! A pass over a chunk has three steps. It finds the slot of each row. It passes on the rows of
//! each slot: where few queries share a slot, each row is paired with them; where many do, the rows
//! are grouped by slot first. It tests the residual predicates, which the access path has not
//! decided.
//!
//! Queries that compute the same aggregates [share](shared_aggregation) the work.
//!
//! | module | contents |
//! |---|---|
//! | `index` | the index, its column indexes and buckets |
//! | `access_path` | the choice of a query's access path |
//! | `hash_lookup` | the slots of words, for equality tests |
//! | `interval_index` | the slots of keys, for ranges |
//! | `composite_key` | the words of several columns, combined into one |
//! | `candidate`, `residual` | the tests that remain after the access path |
//! | `shared_aggregation` | the cells in which queries share aggregates |
//! | `slot_lists`, `slot_rows` | candidates and rows, grouped by slot |
//! | `vector_compare` | comparison of all words of a column by SIMD |

mod access_path;
mod candidate;
mod composite_key;
mod hash_lookup;
mod index;
mod interval_index;
mod residual;
mod shared_aggregation;
mod slot_lists;
mod slot_rows;
mod vector_compare;

pub(crate) use index::QueryIndex;
pub(crate) use shared_aggregation::AggregateCells;

use crate::chunk::{Bitmap, Chunk};
use candidate::Candidate;
use index::{ColumnIndex, SecondaryTest};
use slot_rows::SlotRows;

/// The buffers of a pass over a chunk, which are reused.
#[derive(Default)]
pub(crate) struct Scan {
    slot_rows: SlotRows,
    secondary: SlotRows,
    pairs: Vec<Pair>,
    keys_buffer: Vec<u64>,
    passed: Vec<u16>,
    cells: Vec<Vec<Pair>>,
}

/// A query or a cell, and a row that matches it.
pub(crate) type Pair = (u32, u16);

/// The matches that a pass has not grouped by query.
pub(crate) struct UngroupedMatches<'a> {
    /// Queries with single rows, whose words match.
    pub pairs: &'a [Pair],
    /// [Cells](AggregateCells) with single rows, for each shape.
    pub cells: &'a [Vec<Pair>],
}

impl Scan {
    /// Passes over some rows of a chunk. Calls `each` with a query and rows whose words match it,
    /// perhaps several times for a query, and returns further matches.
    pub fn pass(
        &mut self,
        index: &QueryIndex,
        chunk: &Chunk,
        rows: &Bitmap,
        mut each: impl FnMut(usize, &[u16]),
    ) -> UngroupedMatches<'_> {
        let Self { slot_rows, secondary, pairs, keys_buffer, passed, cells } = self;
        pairs.clear();
        cells.iter_mut().for_each(Vec::clear);
        cells.resize_with(index.cells.counts.len(), Vec::new);
        // `done` is the number of residual predicates already tested.
        let mut report = |query: u32, done: usize, rows: &[u16]| {
            let residual = &index.residual(query)[done..];
            if residual.is_empty() {
                each(query as usize, rows);
                return;
            }
            passed.clear();
            passed.extend_from_slice(rows);
            residual::filter_rows(residual, chunk, passed);
            if !passed.is_empty() {
                each(query as usize, passed);
            }
        };
        for column in &index.columns {
            if column.lookup.slots() > 0 {
                let words = column.by.chunk_words(chunk, keys_buffer);
                column.probe_words(words, chunk, rows, slot_rows, pairs, cells);
                slot_rows.by_slot(column.lookup.slots(), |slot, rows| {
                    let Some(bucket) = &column.buckets[slot as usize] else {
                        unreachable!("rows without a bucket are paired")
                    };
                    if let Some(by) = &bucket.secondary {
                        by.probe(chunk, rows, secondary);
                        by.intervals.report(secondary, |query, rows| report(query, 1, rows));
                    }
                    bucket.others.iter().for_each(|&query| report(query, 0, rows));
                });
            }
            if let Some(shared) = &column.shared {
                rows.for_each(|row| shared.add(chunk, row as u16, cells));
            }
            if column.intervals.slots() > 0 {
                column.probe_intervals(chunk, rows, slot_rows, pairs);
                column.intervals.report(slot_rows, |query, rows| report(query, 0, rows));
            }
        }
        if !index.unindexed.is_empty() {
            let mut all = Vec::new();
            rows.for_each(|row| all.push(row as u16));
            index.unindexed.iter().for_each(|&query| report(query, 0, &all));
        }
        residual::filter_pairs(index, chunk, pairs);
        UngroupedMatches { pairs, cells }
    }

    /// Returns all pairs of a live row and a query that its words match, in order. The queries must
    /// not share aggregations.
    pub fn by_row(&mut self, index: &QueryIndex, chunk: &Chunk) -> Vec<(u16, u32)> {
        let mut all = Vec::new();
        let UngroupedMatches { pairs, .. } = self.pass(index, chunk, &chunk.live, |query, rows| {
            all.extend(rows.iter().map(|&row| (row, query as u32)));
        });
        all.extend(pairs.iter().map(|&(query, row)| (row, query)));
        all.sort_unstable();
        all
    }
}

/// Pairs a row with the candidates whose next test it passes.
#[inline(always)]
fn pair(candidates: &[Candidate], chunk: &Chunk, row: u16, pairs: &mut Vec<Pair>) {
    for candidate in candidates {
        if candidate.passes(chunk, row) {
            pairs.push((candidate.query, row));
        }
    }
}

impl ColumnIndex {
    /// Looks up the words of rows. Pairs a row with the candidates of its slot, adds it to the cell
    /// of its bucket, and lists it by slot if the bucket needs its rows.
    fn probe_words(
        &self,
        words: &[u64],
        chunk: &Chunk,
        rows: &Bitmap,
        slot_rows: &mut SlotRows,
        pairs: &mut Vec<Pair>,
        cells: &mut [Vec<Pair>],
    ) {
        slot_rows.clear();
        let rows = |block| self.by.valid(chunk, rows, block);
        self.lookup.find(words, rows, |slot, row| {
            pair(self.candidates.get(slot), chunk, row, pairs);
            if let Some(bucket) = &self.buckets[slot as usize] {
                if let Some(shared) = &bucket.shared {
                    shared.add(chunk, row, cells);
                }
                if bucket.needs_rows() {
                    slot_rows.add(slot, row);
                }
            }
        });
    }

    /// Looks up the keys of rows. Pairs a row with the candidates of its slot, or lists it by slot
    /// if ranges overlap much.
    fn probe_intervals(&self, chunk: &Chunk, rows: &Bitmap, slot_rows: &mut SlotRows, pairs: &mut Vec<Pair>) {
        slot_rows.clear();
        let column = &chunk.columns[self.by.first()];
        let (keys, words) = (self.kind.keys(), column.words());
        rows.for_each_in_both(&column.valid, |place| {
            let row = place as u16;
            let Some(slot) = self.intervals.slot(keys.encode(words[place])) else { return };
            match &self.interval_candidates {
                Some(lists) => pair(lists.get(slot), chunk, row, pairs),
                None => slot_rows.add(slot, row),
            }
        });
    }
}

impl SecondaryTest {
    fn probe(&self, chunk: &Chunk, rows: &[u16], slot_rows: &mut SlotRows) {
        slot_rows.clear();
        let column = &chunk.columns[self.column];
        let (keys, words) = (self.kind.keys(), column.words());
        for &row in rows {
            let place = usize::from(row);
            if column.valid.get(place)
                && let Some(slot) = self.intervals.slot(keys.encode(words[place]))
            {
                slot_rows.add(slot, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Cell;
    use crate::plan::{Conjunction, WordPredicate};
    use crate::statistics::{KeyBounds, Statistics};
    use crate::value::WordKind;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use xtasking_testing::PATIENCE;

    const KINDS: [WordKind; 3] = [WordKind::Int, WordKind::Unsigned, WordKind::Int];

    /// Generates a predicate: a key, a range, or null. No row has some of the keys.
    fn predicate() -> impl Strategy<Value = WordPredicate> {
        (0usize..3, 0u64..36, 0u64..8, 0u8..14).prop_map(|(column, word, width, how)| {
            // The last column has more values than the others.
            let (word, width) = if column < 2 { (word % 12, width % 3) } else { (word, width) };
            let (kind, low) = (KINDS[column], KINDS[column].key(word));
            match how {
                0 => WordPredicate::Null { column, is_null: width == 0 },
                1 => WordPredicate::Keys { column, kind, low: low + width, high: low },
                2..5 => WordPredicate::Keys { column, kind, low, high: low + width },
                _ => WordPredicate::Keys { column, kind, low, high: low },
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512 / PATIENCE))]

        #[test]
        fn the_scan_finds_what_testing_each_row_finds(
            rows in vec(proptest::option::weighted(0.9, (1u64..5, 0u64..5, 1u64..32)), 64..200),
            nulls in vec(any::<(u8, u8)>(), 200),
            queries in vec((vec(predicate(), 0..4), 0usize..4), 20..60),
        ) {
            let mut chunk = Chunk::new(&KINDS, rows.len().next_multiple_of(Bitmap::BLOCK_BITS));
            let mut bounds = [KeyBounds::NONE; 3];
            for (row, nulls) in rows.iter().zip(&nulls) {
                let (a, b, c) = row.unwrap_or_default();
                let words = [Some(a), Some(b).filter(|_| nulls.0 > 20), Some(c).filter(|_| nulls.1 > 20)];
                for (column, word) in words.into_iter().enumerate() {
                    word.into_iter().for_each(|word| bounds[column].add(KINDS[column].key(word)));
                }
                let place = chunk.push(words.map(|word| Cell { word, text: "" }));
                // Removed rows leave their words behind.
                if row.is_none() {
                    chunk.remove(place);
                }
            }
            let mut statistics = Statistics::new(&KINDS);
            statistics.record(&bounds, &[]);
            let query = |(words, shape): (_, usize)| {
                (Conjunction { words, texts: Vec::new() }, shape.checked_sub(2))
            };
            let queries: Vec<(Conjunction, Option<usize>)> = queries.into_iter().map(query).collect();
            let index = QueryIndex::new(queries.iter().map(|(filter, shape)| (filter, *shape)), &statistics);
            let mut found = BTreeMap::<(usize, u16), usize>::new();
            let mut scan = Scan::default();
            let mut all = Vec::new();
            let ungrouped = scan.pass(&index, &chunk, &chunk.live, |query, rows| {
                all.extend(rows.iter().map(|&row| (query, row)));
            });
            all.extend(ungrouped.pairs.iter().map(|&(query, row)| (query as usize, row)));
            for (query, range) in &index.cells.queries {
                let Some(shape) = queries[*query as usize].1 else {
                    panic!("query {query} aggregates nothing")
                };
                let of_query = ungrouped.cells[shape].iter().filter(|(cell, _)| range.contains(cell));
                all.extend(of_query.map(|&(_, row)| (*query as usize, row)));
            }
            all.into_iter().for_each(|pair| *found.entry(pair).or_default() += 1);
            let mut expected = BTreeMap::new();
            for (query, (filter, _)) in queries.iter().enumerate() {
                chunk.live.for_each(|row| {
                    if filter.matches(&chunk, row) {
                        expected.insert((query, row as u16), 1);
                    }
                });
            }
            prop_assert_eq!(found, expected);
        }
    }
}
