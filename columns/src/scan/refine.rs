//! Which rows of a chunk pass what is left to be tested.

use super::candidate::Candidate;
use super::{Index, Pair, between};
use crate::chunk::{Chunk, Column};
use crate::plan::Check;
use crate::value::Kind;

/// Leaves those pairs whose row passes all that is left to be tested of the query, after its next test as a [`Candidate`].
/// They are tested step by step, all by the first test before any by the second: so that what one waits for to come from
/// memory keeps no other waiting.
pub(super) fn pairs(index: &Index, chunk: &Chunk, pairs: &mut Vec<Pair>) {
    for step in 0.. {
        let (mut kept, mut more) = (0, false);
        for place in 0..pairs.len() {
            let (query, row) = pairs[place];
            pairs[kept] = (query, row);
            let check = Candidate::after(index.rest(query)).get(step);
            more |= check.is_some();
            kept += usize::from(check.is_none_or(|check| check.passes(chunk, row.into())));
        }
        pairs.truncate(kept);
        if !more {
            break;
        }
    }
}

/// Leaves those of the rows that pass all tests.
pub(super) fn rows(checks: &[Check], chunk: &Chunk, rows: &mut Vec<u16>) {
    for check in checks {
        let column = &chunk.columns[check.column()];
        match *check {
            Check::Keys { kind: Kind::Float, low, high, .. } => {
                keep_keys(column, rows, |word| (low..=high).contains(&Kind::Float.key(word)));
            }
            // The keys of whole numbers are their words, moved by the same amount each.
            Check::Keys { kind, low, high, .. } => {
                let (low, width) = (low.wrapping_sub(kind.key(0)), high - low);
                if rows.len() * DENSE >= column.words().len() {
                    let passing = between::bits(column.words(), low, width);
                    keep(rows, |row| column.valid.get(row) & (passing[row / 64] >> (row % 64) & 1 != 0));
                } else {
                    keep_keys(column, rows, |word| word.wrapping_sub(low) <= width);
                }
            }
            Check::Null { is_null, .. } => keep(rows, |row| column.valid.get(row) != is_null),
        }
    }
}

/// To compare all words of a chunk, one behind the other, takes no longer than to compare one in so many.
const DENSE: usize = 8;

/// Leaves those that have a word that passes.
#[inline(always)]
fn keep_keys(column: &Column, rows: &mut Vec<u16>, passes: impl Fn(u64) -> bool) {
    let words = column.words();
    keep(rows, |row| passes(words[row]) & column.valid.get(row));
}

/// Rows that are looked at together.
const BLOCK: usize = 32;

/// Leaves those that pass. Which these are nobody can foresee, so there is no branch for each of them.
#[inline(always)]
fn keep(rows: &mut Vec<u16>, passes: impl Fn(usize) -> bool) {
    let mut kept = 0;
    for begin in (0..rows.len()).step_by(BLOCK) {
        let end = rows.len().min(begin + BLOCK);
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
        /// Many rows and few, with nulls among them.
        #[test]
        fn rows_are_left_that_pass(
            words in proptest::collection::vec(proptest::option::weighted(0.9, 0u64..100), 256),
            ends in proptest::collection::vec((0u64..100, 0u64..100), 1..3),
            every in 1usize..40,
        ) {
            for kind in [Kind::Unsigned, Kind::Int, Kind::Float] {
                let mut chunk = Chunk::new(&[kind], words.len());
                words.iter().for_each(|&word| _ = chunk.push([Cell { word, text: "" }]));
                let ends: Vec<_> = ends.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
                let check = |&(low, high): &(u64, u64)| {
                    Check::Keys { column: 0, kind, low: kind.key(low), high: kind.key(high) }
                };
                let checks: Vec<Check> = ends.iter().map(check).collect();
                let mut found: Vec<u16> = (0..words.len() as u16).step_by(every).collect();
                let expected = found.iter().copied().filter(|&row| {
                    let passes = |word: u64| ends.iter().all(|&(low, high)| (low..=high).contains(&word));
                    words[usize::from(row)].is_some_and(passes)
                });
                let expected: Vec<u16> = expected.collect();
                rows(&checks, &chunk, &mut found);
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
