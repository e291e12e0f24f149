//! Queries by the one word that they ask for.

use crate::chunk::Bits;

/// The words that are asked for, each of which has a *slot*, a number: a hash table, and before it a filter
/// of bits, as most rows concern nobody.
#[derive(Debug, Default)]
pub(super) struct Points {
    /// A bit for each word that is asked for, and for others by chance.
    filter: Box<[u64]>,
    /// Slots by hash, and their words.
    table: Box<[Place]>,
    /// Where the queries of each slot end; those of the first begin at 0.
    ends: Box<[u32]>,
    queries: Box<[u32]>,
    /// How far a hash is shifted to become a place of the table, and a bit of the filter.
    place_shift: u32,
    bit_shift: u32,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    word: u64,
    slot: u32,
}

impl Place {
    const FREE: Self = Self { word: 0, slot: u32::MAX };
}

/// Bits of the filter for each word, and places.
const BITS: usize = 16;
const PLACES: usize = 2;

/// Multiplying by it mixes the lower bits of a word into the upper ones. (Knuth, volume 3, section 6.4: 2^64 by the golden
/// ratio.)
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn hash(word: u64) -> u64 {
    // Words of one column often differ in their upper bits alone.
    (word ^ word >> 32).wrapping_mul(MIX)
}

impl Points {
    /// Of pairs of a word and a query.
    pub fn new(mut pairs: Vec<(u64, u32)>) -> Self {
        if pairs.is_empty() {
            return Self::default();
        }
        pairs.sort_unstable();
        let words = pairs.chunk_by(|a, b| a.0 == b.0).count();
        let places = (words * PLACES).next_power_of_two().max(2);
        let bits = (words * BITS).next_power_of_two().max(64);
        let mut points = Self {
            filter: vec![0; bits / 64].into(),
            table: vec![Place::FREE; places].into(),
            ends: Box::default(),
            queries: pairs.iter().map(|&(_, query)| query).collect(),
            place_shift: 64 - places.ilog2(),
            bit_shift: 64 - bits.ilog2(),
        };
        let mut ends = Vec::with_capacity(words);
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            points.enter(Place { word: group[0].0, slot: ends.len() as u32 });
            ends.push(ends.last().unwrap_or(&0) + group.len() as u32);
        }
        points.ends = ends.into();
        points
    }

    fn enter(&mut self, entry: Place) {
        let hash = hash(entry.word);
        let bit = (hash >> self.bit_shift) as usize;
        self.filter[bit / 64] |= 1 << (bit % 64);
        let mut place = (hash >> self.place_shift) as usize;
        while self.table[place].slot != Place::FREE.slot {
            place = (place + 1) % self.table.len();
        }
        self.table[place] = entry;
    }

    /// How many words are asked for.
    pub fn slots(&self) -> usize {
        self.ends.len()
    }

    /// Who asks for the word of a slot.
    pub fn queries(&self, slot: u32) -> &[u32] {
        let slot = slot as usize;
        let begin = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.queries[begin as usize..self.ends[slot] as usize]
    }

    /// Calls `each` with a slot and a row for those of the `rows`, which are told block by block, whose word has a slot. Some
    /// word is asked for.
    #[inline(always)]
    pub fn find(&self, words: &[u64], rows: impl Fn(usize) -> u64, mut each: impl FnMut(u32, u16)) {
        let (blocks, rest) = words.as_chunks();
        debug_assert!(rest.is_empty(), "chunks have whole blocks");
        for (block, words) in blocks.iter().enumerate() {
            // Without a branch for each row, which nobody could foresee.
            let mut left = rows(block) & self.filter(words);
            while left != 0 {
                let row = left.trailing_zeros() as usize;
                left &= left - 1;
                if let Some(slot) = self.slot(words[row]) {
                    each(slot, (block * Bits::BLOCK + row) as u16);
                }
            }
        }
    }

    /// Which of some words may have slots.
    #[inline(always)]
    fn filter(&self, words: &[u64; Bits::BLOCK]) -> u64 {
        let mut maybe = 0;
        for (row, &word) in words.iter().enumerate() {
            let bit = hash(word) >> self.bit_shift;
            maybe |= (self.filter[(bit / 64) as usize] >> (bit % 64) & 1) << row;
        }
        maybe
    }

    fn slot(&self, word: u64) -> Option<u32> {
        let mut place = (hash(word) >> self.place_shift) as usize;
        loop {
            // Half of the places at least are free.
            let Place { word: found, slot } = self.table[place];
            if slot == Place::FREE.slot {
                return None;
            }
            if found == word {
                return Some(slot);
            }
            place = (place + 1) % self.table.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn as_a_map(asked: Vec<(u8, bool)>, others: Vec<u64>, hidden: u64) {
            let pairs = asked.iter().enumerate().map(|(query, &(word, up))| {
                (if up { u64::from(word) << 56 } else { word.into() }, query as u32)
            });
            let mut map = BTreeMap::<u64, Vec<u32>>::new();
            pairs.clone().for_each(|(word, query)| map.entry(word).or_default().push(query));
            let points = Points::new(pairs.collect());
            prop_assert_eq!(points.slots(), map.len());
            if points.slots() > 0 {
                let mut words: Vec<u64> = map.keys().copied().chain(others).chain([0, u64::MAX]).collect();
                words.resize(words.len().next_multiple_of(Bits::BLOCK), 7);
                let mut found = vec![None; words.len()];
                let rows = |block: usize| if block == 0 { !hidden } else { u64::MAX };
                points.find(&words, rows, |slot, row| found[usize::from(row)] = Some(slot));
                for (row, (word, slot)) in words.iter().zip(found).enumerate() {
                    let is_hidden = row < 64 && hidden >> row & 1 != 0;
                    let expected = map.get(word).filter(|_| !is_hidden);
                    prop_assert_eq!(slot.map(|slot| points.queries(slot)), expected.map(Vec::as_slice));
                }
            }
        }
    }
}
