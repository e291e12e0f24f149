//! Evaluation of residual predicates, which the access path has not decided.

use super::candidate::Candidate;
use super::{Pair, QueryIndex, vector_compare};
use crate::chunk::{Chunk, Column};
use crate::plan::WordPredicate;
use crate::value::WordKind;

/// Keeps the pairs whose row matches all residual predicates of the query after its next test as a
/// [`Candidate`]. It evaluates the first predicate of all pairs before the second, so that their
/// loads from memory overlap.
pub(super) fn filter_pairs(index: &QueryIndex, chunk: &Chunk, pairs: &mut Vec<Pair>) {
    for step in 0.. {
        let (mut kept, mut has_more) = (0, false);
        for place in 0..pairs.len() {
            let (query, row) = pairs[place];
            pairs[kept] = (query, row);
            let predicate = Candidate::after(index.residual(query)).get(step);
            has_more |= predicate.is_some();
            kept += usize::from(predicate.is_none_or(|predicate| predicate.matches(chunk, row.into())));
        }
        pairs.truncate(kept);
        if !has_more {
            break;
        }
    }
}

/// Keeps the rows that match all predicates.
pub(super) fn filter_rows(predicates: &[WordPredicate], chunk: &Chunk, rows: &mut Vec<u16>) {
    for predicate in predicates {
        let column = &chunk.columns[predicate.column()];
        match *predicate {
            WordPredicate::Keys { kind: WordKind::Float, low, high, .. } => {
                keep_keys(column, rows, |word| (low..=high).contains(&WordKind::Float.key(word)));
            }
            // The keys of integers differ from their words by a constant offset.
            WordPredicate::Keys { kind, low, high, .. } => {
                let (low, width) = (low.wrapping_sub(kind.key(0)), high - low);
                if rows.len() * DENSE_RATIO >= column.words().len() {
                    let passing = vector_compare::bits_in_range(column.words(), low, width);
                    keep(rows, |row| column.valid.get(row) & (passing[row / 64] >> (row % 64) & 1 != 0));
                } else {
                    keep_keys(column, rows, |word| word.wrapping_sub(low) <= width);
                }
            }
            WordPredicate::Null { is_null, .. } => keep(rows, |row| column.valid.get(row) != is_null),
        }
    }
}

/// Comparing all words of a column by SIMD costs as much as comparing one in this many.
const DENSE_RATIO: usize = 8;

/// Keeps the rows whose word passes and is not null.
#[inline(always)]
fn keep_keys(column: &Column, rows: &mut Vec<u16>, passes: impl Fn(u64) -> bool) {
    let words = column.words();
    keep(rows, |row| passes(words[row]) & column.valid.get(row));
}

/// Rows that are tested together.
const BLOCK_ROWS: usize = 32;

/// Keeps the rows that pass. It has no branch for each row: it would be unpredictable.
#[inline(always)]
fn keep(rows: &mut Vec<u16>, passes: impl Fn(usize) -> bool) {
    let mut kept = 0;
    for begin in (0..rows.len()).step_by(BLOCK_ROWS) {
        let end = rows.len().min(begin + BLOCK_ROWS);
        let mut left = 0u32;
        for (place, &row) in rows[begin..end].iter().enumerate() {
            left |= u32::from(passes(row.into())) << place;
        }
        while left != 0 {
            rows[kept] = rows[begin + left.trailing_zeros() as usize];
            kept += 1;
            left &= left - 1;
        }
    }
    rows.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Cell;
    use proptest::prelude::*;

    proptest! {
        /// Dense and sparse rows, with nulls.
        #[test]
        fn the_rows_that_match_are_kept(
            words in proptest::collection::vec(proptest::option::weighted(0.9, 0u64..100), 256),
            ends in proptest::collection::vec((0u64..100, 0u64..100), 1..3),
            every in 1usize..40,
        ) {
            for kind in [WordKind::Unsigned, WordKind::Int, WordKind::Float] {
                let mut chunk = Chunk::new(&[kind], words.len());
                words.iter().for_each(|&word| _ = chunk.push([Cell { word, text: "" }]));
                let ends: Vec<_> = ends.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
                let predicate = |&(low, high): &(u64, u64)| {
                    WordPredicate::Keys { column: 0, kind, low: kind.key(low), high: kind.key(high) }
                };
                let predicates: Vec<WordPredicate> = ends.iter().map(predicate).collect();
                let mut found: Vec<u16> = (0..words.len() as u16).step_by(every).collect();
                let expected = found.iter().copied().filter(|&row| {
                    let passes = |word: u64| ends.iter().all(|&(low, high)| (low..=high).contains(&word));
                    words[usize::from(row)].is_some_and(passes)
                });
                let expected: Vec<u16> = expected.collect();
                filter_rows(&predicates, &chunk, &mut found);
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
