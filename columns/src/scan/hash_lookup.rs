//! A lookup from words to the slots of the queries that compare with them.

use crate::chunk::Bitmap;

/// The words that queries compare with. Each has a *slot*, its index in ascending order.
#[derive(Debug)]
pub(super) struct HashLookup {
    table: LookupTable,
    word_count: usize,
}

/// The table of slots. Most rows match no query, so a byte map of *marks* is probed first. It has
/// no false negatives.
#[derive(Debug)]
enum LookupTable {
    Empty,
    /// For words that lie close together: indexed by the distance from the least.
    Direct {
        least: u64,
        marks: Marks,
        slots: Box<[u32]>,
    },
    /// For other words: open addressing with linear probing.
    Hashed {
        marks: Marks,
        entries: Box<[HashEntry]>,
        shift: u32,
    },
}

/// A byte for each 16-bit index, 1 if marked. The index needs no bounds check, and the mark no
/// shift.
type Marks = Box<[u8; 1 << 16]>;

fn no_marks() -> Marks {
    vec![0; 1 << 16].try_into().expect("the lengths are equal")
}

#[derive(Clone, Copy, Debug)]
struct HashEntry {
    word: u64,
    slot: u32,
}

impl HashEntry {
    const FREE: Self = Self { word: 0, slot: u32::MAX };
}

/// Hash table entries for each word.
const ENTRIES_PER_WORD: usize = 2;
/// Words within this distance need no hash table.
const MAX_DIRECT_RANGE: u64 = 1 << 16;

/// Multiplicative hashing with 2^64 divided by the golden ratio mixes all bits into the upper ones
/// (Knuth, volume 3, section 6.4).
const FIBONACCI_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn hash(word: u64) -> u64 {
    word.wrapping_mul(FIBONACCI_MULTIPLIER)
}

/// Returns the index of a word's mark, by hash.
#[inline(always)]
fn mark_of_hash(word: u64) -> u16 {
    (hash(word) >> 48) as u16
}

impl HashLookup {
    /// Builds a lookup of distinct words in ascending order.
    pub fn new(words: &[u64]) -> Self {
        Self { table: LookupTable::new(words), word_count: words.len() }
    }

    /// Returns the number of slots, one for each word.
    pub fn slots(&self) -> usize {
        self.word_count
    }

    /// Calls `each` with the slot and the row of every word that has a slot. `rows` returns a block
    /// of the bitmap of rows to look up.
    #[inline(always)]
    pub fn find(&self, words: &[u64], rows: impl Fn(usize) -> u64, each: impl FnMut(u32, u16)) {
        match &self.table {
            LookupTable::Empty => {}
            LookupTable::Direct { least, marks, slots } => {
                let above = |word: u64| word.wrapping_sub(*least);
                let slot = |word| slots.get(usize::try_from(above(word)).ok()?).copied();
                find(words, rows, marks, |word| above(word) as u16, slot, each);
            }
            LookupTable::Hashed { marks, entries, shift } => {
                find(words, rows, marks, mark_of_hash, |word| probe(entries, *shift, word), each);
            }
        }
    }
}

/// Finds slots, with marks at the index that `mark_of` returns.
#[inline(always)]
fn find(
    words: &[u64],
    rows: impl Fn(usize) -> u64,
    marks: &Marks,
    mark_of: impl Fn(u64) -> u16,
    slot: impl Fn(u64) -> Option<u32>,
    mut each: impl FnMut(u32, u16),
) {
    let (blocks, rest) = words.as_chunks::<{ Bitmap::BLOCK_BITS }>();
    debug_assert!(rest.is_empty(), "chunks consist of whole blocks");
    for (block, words) in blocks.iter().enumerate() {
        // No branch for each row: it would be unpredictable.
        let mut left = 0;
        for (byte, words) in words.as_chunks::<8>().0.iter().enumerate() {
            let mut marked = 0;
            for (row, &word) in words.iter().enumerate() {
                marked |= marks[usize::from(mark_of(word))] << row;
            }
            left |= u64::from(marked) << (8 * byte);
        }
        left &= rows(block);
        while left != 0 {
            let row = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Some(slot) = slot(words[row]) {
                each(slot, (block * Bitmap::BLOCK_BITS + row) as u16);
            }
        }
    }
}

impl LookupTable {
    /// Builds the table. The slot of a word is its index in `words`.
    fn new(words: &[u64]) -> Self {
        let (Some(&least), Some(&greatest)) = (words.first(), words.last()) else {
            return LookupTable::Empty;
        };
        let slots = || words.iter().copied().zip(0u32..);
        let mut marks = no_marks();
        if greatest - least < MAX_DIRECT_RANGE {
            let mut found: Box<[u32]> = vec![HashEntry::FREE.slot; (greatest - least + 1) as usize].into();
            for (word, slot) in slots() {
                marks[(word - least) as usize] = 1;
                found[(word - least) as usize] = slot;
            }
            return Self::Direct { least, marks, slots: found };
        }
        let mut entries: Box<[HashEntry]> =
            vec![HashEntry::FREE; (words.len() * ENTRIES_PER_WORD).next_power_of_two()].into();
        let shift = 64 - entries.len().ilog2();
        for (word, slot) in slots() {
            marks[usize::from(mark_of_hash(word))] = 1;
            let mut position = (hash(word) >> shift) as usize;
            while entries[position].slot != HashEntry::FREE.slot {
                position = (position + 1) % entries.len();
            }
            entries[position] = HashEntry { word, slot };
        }
        Self::Hashed { marks, entries, shift }
    }
}

/// Returns the slot of a word, if it has one.
#[inline(always)]
fn probe(entries: &[HashEntry], shift: u32, word: u64) -> Option<u32> {
    let mut position = (hash(word) >> shift) as usize;
    loop {
        // Terminates: at least half of the entries are free.
        let HashEntry { word: found, slot } = entries[position];
        if slot == HashEntry::FREE.slot {
            return None;
        }
        if found == word {
            return Some(slot);
        }
        position = (position + 1) % entries.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_lookup_finds_what_a_binary_search_finds(
            specs: Vec<(u8, bool)>,
            is_close: bool,
            others: Vec<u64>,
            hidden: u64,
        ) {
            let word = |&(word, up): &(u8, bool)| {
                let word = u64::from(word);
                if is_close { word * 200 + 5 } else if up { word << 56 } else { word }
            };
            let wanted: BTreeSet<u64> = specs.iter().map(word).collect();
            let wanted: Vec<u64> = wanted.into_iter().collect();
            let lookup = HashLookup::new(&wanted);
            prop_assert_eq!(lookup.slots(), wanted.len());
            let mut words: Vec<u64> = wanted.iter().copied().chain(others).chain([0, u64::MAX]).collect();
            words.resize(words.len().next_multiple_of(Bitmap::BLOCK_BITS), 7);
            let mut found = vec![None; words.len()];
            let rows = |block: usize| if block == 0 { !hidden } else { u64::MAX };
            lookup.find(&words, rows, |slot, row| found[usize::from(row)] = Some(slot as usize));
            for (row, (word, slot)) in words.iter().zip(found).enumerate() {
                let is_hidden = row < 64 && hidden >> row & 1 != 0;
                let expected = wanted.binary_search(word).ok().filter(|_| !is_hidden);
                prop_assert_eq!(slot, expected);
            }
        }
    }
}
