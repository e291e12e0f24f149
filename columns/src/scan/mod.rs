//! The queries that a row concerns.
//!
//! Each query of a batch is entered in an index by one of its tests, the one that the fewest rows pass as far as is known, or
//! by several that ask for one word each, and perhaps for a range. What is asked of a column cuts its keys into *slots*, each
//! of which concerns the same queries throughout: a pass over a chunk finds the slot of each row and puts the rows in order of
//! slots, so that each query finds those that pass its first test side by side. Where few ask for a word, each of its rows is
//! simply paired with them. All are then refined by what is left to be tested. Queries that make the same of rows
//! [share](fold) what is made.

mod between;
mod candidate;
mod fold;
mod hits;
mod index;
mod joint;
mod lists;
mod points;
mod refine;
mod spans;
mod ways;

pub(crate) use fold::Cells;
pub(crate) use index::Index;

use crate::chunk::{Bits, Chunk};
use candidate::Candidate;
use hits::Hits;
use index::{Entered, Second};

/// A pass over chunks: what it needs of memory.
#[derive(Default)]
pub(crate) struct Scan {
    hits: Hits,
    second: Hits,
    pairs: Vec<Pair>,
    joints: Vec<u64>,
    passed: Vec<u16>,
    cells: Vec<Vec<Pair>>,
}

/// A query or a cell, and a row that concerns it.
pub(crate) type Pair = (u32, u16);

/// What a pass has found besides.
pub(crate) struct Rest<'a> {
    /// Queries with single rows that pass all their tests.
    pub pairs: &'a [Pair],
    /// The same with [cells](Cells), for each shape.
    pub cells: &'a [Vec<Pair>],
}

impl Scan {
    /// Tells each query which of some rows of a chunk pass all its tests, if any do. It may be told several times, and some
    /// rows are among what is returned.
    pub fn pass(
        &mut self,
        index: &Index,
        chunk: &Chunk,
        rows: &Bits,
        mut each: impl FnMut(usize, &[u16]),
    ) -> Rest<'_> {
        let Self { hits, second, pairs, joints, passed, cells } = self;
        pairs.clear();
        cells.iter_mut().for_each(Vec::clear);
        cells.resize_with(index.cells.counts.len(), Vec::new);
        // So many of its tests have been made.
        let mut tell = |query: u32, made: usize, rows: &[u16]| {
            let rest = &index.rest(query)[made..];
            if rest.is_empty() {
                each(query as usize, rows);
                return;
            }
            passed.clear();
            passed.extend_from_slice(rows);
            refine::rows(rest, chunk, passed);
            if !passed.is_empty() {
                each(query as usize, passed);
            }
        };
        for entered in &index.columns {
            if entered.points.slots() > 0 {
                let words = entered.by.words(chunk, joints);
                entered.find_points(words, chunk, rows, hits, pairs, cells);
                hits.by_slot(entered.points.slots(), |slot, rows| {
                    let Some(crowd) = &entered.crowds[slot as usize] else {
                        unreachable!("the others are paired")
                    };
                    if let Some(by) = &crowd.second {
                        by.find(chunk, rows, second);
                        by.spans.tell(second, |query, rows| tell(query, 1, rows));
                    }
                    crowd.others.iter().for_each(|&query| tell(query, 0, rows));
                });
            }
            if let Some(fold) = &entered.fold {
                rows.for_each(|row| fold.add(chunk, row as u16, cells));
            }
            if entered.spans.slots() > 0 {
                entered.find_spans(chunk, rows, hits, pairs);
                entered.spans.tell(hits, |query, rows| tell(query, 0, rows));
            }
        }
        if !index.others.is_empty() {
            let mut all = Vec::new();
            rows.for_each(|row| all.push(row as u16));
            index.others.iter().for_each(|&query| tell(query, 0, &all));
        }
        refine::pairs(index, chunk, pairs);
        Rest { pairs, cells }
    }

    /// All pairs of a query and a row of the chunk that passes all its tests, by row and then by query. None have cells.
    pub fn by_row(&mut self, index: &Index, chunk: &Chunk) -> Vec<(u16, u32)> {
        let mut all = Vec::new();
        let Rest { pairs, .. } = self.pass(index, chunk, &chunk.live, |query, rows| {
            all.extend(rows.iter().map(|&row| (row, query as u32)));
        });
        all.extend(pairs.iter().map(|&(query, row)| (row, query)));
        all.sort_unstable();
        all
    }
}

/// Pairs a row with those whose next test it passes.
#[inline(always)]
fn pair(candidates: &[Candidate], chunk: &Chunk, row: u16, pairs: &mut Vec<Pair>) {
    for candidate in candidates {
        if candidate.passes(chunk, row) {
            pairs.push((candidate.query, row));
        }
    }
}

impl Entered {
    /// Finds rows with words that are asked for: by slots where many ask for one, otherwise each with its queries, and with
    /// the cell that others share.
    fn find_points(
        &self,
        words: &[u64],
        chunk: &Chunk,
        rows: &Bits,
        hits: &mut Hits,
        pairs: &mut Vec<Pair>,
        cells: &mut [Vec<Pair>],
    ) {
        hits.clear();
        let rows = |block| self.by.valid(chunk, rows, block);
        self.points.find(words, rows, |slot, row| {
            pair(self.few.of(slot), chunk, row, pairs);
            if let Some(crowd) = &self.crowds[slot as usize] {
                if let Some(fold) = &crowd.fold {
                    fold.add(chunk, row, cells);
                }
                if crowd.wants_rows() {
                    hits.add(slot, row);
                }
            }
        });
    }

    /// Finds rows with keys that are asked for: by slots where many ask for one, otherwise each with its queries.
    fn find_spans(&self, chunk: &Chunk, rows: &Bits, hits: &mut Hits, pairs: &mut Vec<Pair>) {
        hits.clear();
        let column = &chunk.columns[self.by.first()];
        let (keys, words) = (self.kind.keys(), column.words());
        rows.for_each_of_both(&column.valid, |place| {
            let row = place as u16;
            let Some(slot) = self.spans.slot(keys.of(words[place])) else { return };
            match &self.paired {
                Some(lists) => pair(lists.of(slot), chunk, row, pairs),
                None => hits.add(slot, row),
            }
        });
    }
}

impl Second {
    fn find(&self, chunk: &Chunk, rows: &[u16], hits: &mut Hits) {
        hits.clear();
        let column = &chunk.columns[self.column];
        let (keys, words) = (self.kind.keys(), column.words());
        for &row in rows {
            let place = usize::from(row);
            if column.valid.get(place)
                && let Some(slot) = self.spans.slot(keys.of(words[place]))
            {
                hits.add(slot, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Cell;
    use crate::plan::{Check, Checks};
    use crate::statistics::{Bounds, Statistics};
    use crate::value::Kind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const KINDS: [Kind; 3] = [Kind::Int, Kind::Unsigned, Kind::Int];

    /// What is asked of a column: a key, a range, or whether it is null. Some keys no row has.
    fn check() -> impl Strategy<Value = Check> {
        (0usize..3, 0u64..36, 0u64..8, 0u8..14).prop_map(|(column, word, width, how)| {
            // The last has more than the others.
            let (word, width) = if column < 2 { (word % 12, width % 3) } else { (word, width) };
            let (kind, low) = (KINDS[column], KINDS[column].key(word));
            match how {
                0 => Check::Null { column, is_null: width == 0 },
                1 => Check::Keys { column, kind, low: low + width, high: low },
                2..5 => Check::Keys { column, kind, low, high: low + width },
                _ => Check::Keys { column, kind, low, high: low },
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn as_testing_each_row(
            rows in proptest::collection::vec(proptest::option::weighted(0.9, (1u64..5, 0u64..5, 1u64..32)), 64..200),
            nulls in proptest::collection::vec(any::<(u8, u8)>(), 200),
            queries in proptest::collection::vec((proptest::collection::vec(check(), 0..4), 0usize..4), 20..60),
        ) {
            let mut chunk = Chunk::new(&KINDS, rows.len().next_multiple_of(Bits::BLOCK));
            let mut bounds = [Bounds::NONE; 3];
            for (row, nulls) in rows.iter().zip(&nulls) {
                let (a, b, c) = row.unwrap_or_default();
                let words = [Some(a), Some(b).filter(|_| nulls.0 > 20), Some(c).filter(|_| nulls.1 > 20)];
                for (column, word) in words.into_iter().enumerate() {
                    word.into_iter().for_each(|word| bounds[column].add(KINDS[column].key(word)));
                }
                let place = chunk.push(words.map(|word| Cell { word, text: "" }));
                // Some are gone, and what they had is still there.
                if row.is_none() {
                    chunk.remove(place);
                }
            }
            let mut known = Statistics::new(&KINDS);
            known.note(&bounds, &[]);
            let queries: Vec<(Checks, Option<usize>)> =
                queries.into_iter().map(|(checks, shape)| (Checks(checks, Vec::new()), shape.checked_sub(2))).collect();
            let index = Index::new(queries.iter().map(|(checks, shape)| (checks, *shape)), &known);
            let mut found = BTreeMap::<(usize, u16), usize>::new();
            let mut scan = Scan::default();
            let mut all = Vec::new();
            let rest = scan.pass(&index, &chunk, &chunk.live, |query, rows| {
                all.extend(rows.iter().map(|&row| (query, row)));
            });
            all.extend(rest.pairs.iter().map(|&(query, row)| (query as usize, row)));
            for (query, range) in &index.cells.queries {
                let Some(shape) = queries[*query as usize].1 else { panic!("{query} makes nothing of rows") };
                let of_query = rest.cells[shape].iter().filter(|(cell, _)| range.contains(cell));
                all.extend(of_query.map(|&(_, row)| (*query as usize, row)));
            }
            all.into_iter().for_each(|pair| *found.entry(pair).or_default() += 1);
            let mut expected = BTreeMap::new();
            for (query, (checks, _)) in queries.iter().enumerate() {
                chunk.live.for_each(|row| {
                    if checks.hold(&chunk, row) {
                        expected.insert((query, row as u16), 1);
                    }
                });
            }
            prop_assert_eq!(found, expected);
        }
    }
}
