//! Which rows of a chunk pass what is left to be tested.

use super::{Index, Pair};
use crate::chunk::{Chunk, Column};
use crate::plan::Check;
use crate::value::Kind;

/// Leaves those pairs whose row passes all that is left to be tested of the query. They are tested step by step, all by the
/// first test before any by the second: so that what one waits for to come from memory keeps no other waiting.
pub(super) fn pairs(index: &Index, chunk: &Chunk, pairs: &mut Vec<Pair>) {
    for step in 0.. {
        let (mut kept, mut more) = (0, false);
        for place in 0..pairs.len() {
            let (query, row) = pairs[place];
            pairs[kept] = (query, row);
            let check = index.rest(query).get(step);
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
            Check::Keys { low, high, .. } if low > high => rows.clear(),
            // The keys of whole numbers are their words, moved by the same amount each.
            Check::Keys { kind, low, high, .. } => {
                let (low, width) = (low.wrapping_sub(kind.key(0)), high - low);
                keep_keys(column, rows, |word| word.wrapping_sub(low) <= width);
            }
            Check::Null { is_null, .. } => keep(rows, |row| column.valid.get(row) != is_null),
        }
    }
}

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
