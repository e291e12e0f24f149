//! Queries by the one word that they ask for.

use super::lists::Lists;
use crate::chunk::Bits;

/// The words that are asked for, each of which has a *slot*, a number in their order.
#[derive(Debug, Default)]
pub(super) struct Points {
    words: Words,
    queries: Lists,
}

/// How slots are found. Before there is a filter of bits, as most rows concern nobody.
#[derive(Debug)]
enum Words {
    /// By hash.
    Hashed {
        /// A bit for each word that is asked for, and for others by chance.
        filter: Box<[u64]>,
        places: Box<[Place]>,
        /// How far a hash is shifted to become a bit of the filter, and a place.
        bit_shift: u32,
        place_shift: u32,
    },
    /// By how much they are greater than the least, if all lie close together.
    Close {
        least: u64,
        /// A bit for each word that is asked for.
        filter: Box<[u64]>,
        slots: Box<[u32]>,
    },
}

impl Default for Words {
    fn default() -> Self {
        Self::Close { least: 0, filter: Box::default(), slots: Box::default() }
    }
}

#[derive(Clone, Copy, Debug)]
struct Place {
    word: u64,
    slot: u32,
}

impl Place {
    const FREE: Self = Self { word: 0, slot: u32::MAX };
}

/// Bits of the filter for each word, and places, if they are found by hash.
const BITS: usize = 16;
const PLACES: usize = 2;
/// Words that differ by less are found without hashing.
const CLOSE: u64 = 1 << 16;

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
        pairs.sort_unstable();
        let groups = pairs.chunk_by(|a, b| a.0 == b.0);
        let words: Vec<u64> = groups.map(|group| group[0].0).collect();
        Self { words: Words::new(&words), queries: Lists::new(&pairs) }
    }

    /// How many words are asked for.
    pub fn slots(&self) -> usize {
        self.queries.slots()
    }

    /// Who asks for the word of a slot.
    #[inline]
    pub fn queries(&self, slot: u32) -> &[u32] {
        self.queries.of(slot)
    }

    /// Calls `each` with a slot and a row for those of the `rows`, which are told block by block, whose word has a slot.
    #[inline(always)]
    pub fn find(&self, words: &[u64], rows: impl Fn(usize) -> u64, each: impl FnMut(u32, u16)) {
        match &self.words {
            Words::Hashed { filter, places, bit_shift, place_shift } => {
                let bit = |word| hash(word) >> bit_shift;
                find(words, rows, filter, bit, |word| of(places, *place_shift, word), each);
            }
            Words::Close { least, filter, slots } => {
                // The last bit is nobody's.
                let bit = |word: u64| word.wrapping_sub(*least).min(slots.len() as u64);
                find(words, rows, filter, bit, |word| Some(slots[bit(word) as usize]), each);
            }
        }
    }
}

/// The same for a filter, of which `bit` tells the bit of a word.
#[inline(always)]
fn find(
    words: &[u64],
    rows: impl Fn(usize) -> u64,
    filter: &[u64],
    bit: impl Fn(u64) -> u64,
    slot: impl Fn(u64) -> Option<u32>,
    mut each: impl FnMut(u32, u16),
) {
    let (blocks, rest) = words.as_chunks::<{ Bits::BLOCK }>();
    debug_assert!(rest.is_empty(), "chunks have whole blocks");
    for (block, words) in blocks.iter().enumerate() {
        // Without a branch for each row, which nobody could foresee.
        let mut left = 0;
        for (row, &word) in words.iter().enumerate() {
            let bit = bit(word);
            left |= (filter[(bit / 64) as usize] >> (bit % 64) & 1) << row;
        }
        left &= rows(block);
        while left != 0 {
            let row = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Some(slot) = slot(words[row]) {
                each(slot, (block * Bits::BLOCK + row) as u16);
            }
        }
    }
}

impl Words {
    /// Of these words, which are in order, each once. Their places are their slots.
    fn new(words: &[u64]) -> Self {
        let (Some(&least), Some(&greatest)) = (words.first(), words.last()) else { return Self::default() };
        let slots = || words.iter().copied().zip(0u32..);
        if greatest - least < CLOSE {
            let width = (greatest - least + 1) as usize;
            let mut filter: Box<[u64]> = vec![0; width / 64 + 1].into();
            let mut found: Box<[u32]> = vec![0; width].into();
            for (word, slot) in slots() {
                let place = (word - least) as usize;
                filter[place / 64] |= 1 << (place % 64);
                found[place] = slot;
            }
            return Self::Close { least, filter, slots: found };
        }
        let bits = (words.len() * BITS).next_power_of_two().max(64);
        let mut filter: Box<[u64]> = vec![0; bits / 64].into();
        let mut places: Box<[Place]> = vec![Place::FREE; (words.len() * PLACES).next_power_of_two()].into();
        let (bit_shift, place_shift) = (64 - bits.ilog2(), 64 - places.len().ilog2());
        for (word, slot) in slots() {
            let bit = (hash(word) >> bit_shift) as usize;
            filter[bit / 64] |= 1 << (bit % 64);
            let mut place = (hash(word) >> place_shift) as usize;
            while places[place].slot != Place::FREE.slot {
                place = (place + 1) % places.len();
            }
            places[place] = Place { word, slot };
        }
        Self::Hashed { filter, places, bit_shift, place_shift }
    }
}

/// The slot of a word that may have one.
#[inline(always)]
fn of(places: &[Place], shift: u32, word: u64) -> Option<u32> {
    let mut place = (hash(word) >> shift) as usize;
    loop {
        // Half of the places at least are free.
        let Place { word: found, slot } = places[place];
        if slot == Place::FREE.slot {
            return None;
        }
        if found == word {
            return Some(slot);
        }
        place = (place + 1) % places.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn as_a_map(asked: Vec<(u8, bool)>, is_close: bool, others: Vec<u64>, hidden: u64) {
            let pairs = asked.iter().enumerate().map(|(query, &(word, up))| {
                let word = u64::from(word);
                (if is_close { word * 200 + 5 } else if up { word << 56 } else { word }, query as u32)
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
