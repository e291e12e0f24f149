//! The hash table of one part of a radix join: rows side by side, chained by their hash.
//!
//! There are two to four chains for each row, so nearly every search ends at the first row. Slots
//! of open addressing would be larger, so that there were fewer of them in the cache, and the
//! processor would predict fewer of the searches.

use super::rows::{JoinRow, Matches};
use crate::tables::hashing::{Places, hash};

/// Rows of one part, to be looked up.
pub(super) struct Chains {
    /// The first row of each chain; 0 where there is none.
    heads: Vec<u32>,
    /// The next row of the chain of each row; 0 at the end.
    next: Vec<u32>,
    /// Begins with a row that no key matches.
    rows: Vec<JoinRow>,
    places: Places,
    /// The leading bits of hashes that are the same in all rows.
    skipped_bits: u32,
}

impl Chains {
    /// Bytes of the table for each row, at most.
    pub(super) const BYTES_PER_ROW: usize = size_of::<JoinRow>() + 5 * size_of::<u32>();

    /// Chains rows, of whose hashes the leading `skipped_bits` bits are alike. There are `count` of
    /// them, more or less.
    ///
    /// # Panics
    ///
    /// If there are more rows than numbers of 32 bits.
    pub(super) fn build(rows: impl Iterator<Item = JoinRow>, count: usize, skipped_bits: u32) -> Self {
        let places = Places::at_least(2 * count);
        let mut next = Vec::with_capacity(count + 1);
        next.push(0);
        let mut chained = Vec::with_capacity(count + 1);
        chained.push(JoinRow::default());
        let mut chains = Self { heads: vec![0; places.count()], next, rows: chained, places, skipped_bits };
        for row in rows {
            let number = u32::try_from(chains.rows.len()).expect("a part has fewer rows");
            let place = chains.first(row.key);
            let head = &mut chains.heads[place];
            chains.next.push(std::mem::replace(head, number));
            chains.rows.push(row);
        }
        chains
    }

    #[inline(always)]
    fn first(&self, key: u64) -> usize {
        self.places.first(hash(key) << self.skipped_bits)
    }

    /// Looks a row up.
    #[inline(always)]
    pub(super) fn probe(&self, row: JoinRow) -> Matches {
        let mut number = self.heads[self.first(row.key)] as usize;
        loop {
            let candidate = self.rows[number];
            if candidate.key == row.key {
                return Matches::of(row, Some(candidate.payload));
            }
            if number == 0 {
                return Matches::of(row, None);
            }
            number = self.next[number] as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Sides;
    use super::*;

    #[test]
    fn every_row_is_found_and_no_other() {
        for count in [0, 1, 5, 1000] {
            let (sides, expected) = Sides::new(1000, 3000, 4);
            let (build, rest) = sides.build.split_at(count);
            let chains = Chains::build(build.iter().copied(), count, 0);
            for row in build {
                assert_eq!(chains.probe(*row), Matches::of(*row, Some(row.payload)));
            }
            assert!(rest.iter().all(|row| chains.probe(*row) == Matches::default()));
            if count == 1000 {
                assert_eq!(sides.probe.iter().map(|row| chains.probe(*row)).sum::<Matches>(), expected);
            }
        }
    }
}
