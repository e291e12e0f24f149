//! The words that are asked for.

use crate::chunk::Bits;

/// The words that are asked for, each of which has a *slot*, a number in their order.
#[derive(Debug)]
pub(super) struct Points {
    words: Words,
    count: usize,
}

/// How slots are found. First a *mark* is looked up, as most rows concern nobody: all words that are asked for have one, and
/// others by chance.
#[derive(Debug)]
enum Words {
    Nothing,
    /// By how much they are greater than the least, if all lie close together.
    Close {
        least: u64,
        marks: Marks,
        slots: Box<[u32]>,
    },
    /// By hash.
    Hashed {
        marks: Marks,
        places: Box<[Place]>,
        shift: u32,
    },
}

/// A byte for each number of 16 bits: 1 for those that are marked. So the number needs no check, and the mark no shift.
type Marks = Box<[u8; 1 << 16]>;

fn no_marks() -> Marks {
    vec![0; 1 << 16].try_into().expect("as many")
}

#[derive(Clone, Copy, Debug)]
struct Place {
    word: u64,
    slot: u32,
}

impl Place {
    const FREE: Self = Self { word: 0, slot: u32::MAX };
}

/// Places for each word.
const PLACES: usize = 2;
/// Words that differ by less are found without hashing.
const CLOSE: u64 = 1 << 16;

/// Multiplying by it mixes all bits of a word into the upper ones. (Knuth, volume 3, section 6.4: 2^64 by the golden ratio.)
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn hash(word: u64) -> u64 {
    word.wrapping_mul(MIX)
}

/// The number of a word's mark, by hash.
#[inline(always)]
fn hashed(word: u64) -> u16 {
    (hash(word) >> 48) as u16
}

impl Points {
    /// Of these words, which are in order, each once.
    pub fn new(words: &[u64]) -> Self {
        Self { words: Words::new(words), count: words.len() }
    }

    /// How many words are asked for.
    pub fn slots(&self) -> usize {
        self.count
    }

    /// Calls `each` with a slot and a row for those of the `rows`, which are told block by block, whose word has a slot.
    #[inline(always)]
    pub fn find(&self, words: &[u64], rows: impl Fn(usize) -> u64, each: impl FnMut(u32, u16)) {
        match &self.words {
            Words::Nothing => {}
            Words::Close { least, marks, slots } => {
                let above = |word: u64| word.wrapping_sub(*least);
                let slot = |word| slots.get(usize::try_from(above(word)).ok()?).copied();
                find(words, rows, marks, |word| above(word) as u16, slot, each);
            }
            Words::Hashed { marks, places, shift } => {
                find(words, rows, marks, hashed, |word| of(places, *shift, word), each);
            }
        }
    }
}

/// The same for marks, of which `number` tells that of a word.
#[inline(always)]
fn find(
    words: &[u64],
    rows: impl Fn(usize) -> u64,
    marks: &Marks,
    number: impl Fn(u64) -> u16,
    slot: impl Fn(u64) -> Option<u32>,
    mut each: impl FnMut(u32, u16),
) {
    let (blocks, rest) = words.as_chunks::<{ Bits::BLOCK }>();
    debug_assert!(rest.is_empty(), "chunks have whole blocks");
    for (block, words) in blocks.iter().enumerate() {
        // Without a branch for each row, which nobody could foresee.
        let mut left = 0;
        for (byte, words) in words.as_chunks::<8>().0.iter().enumerate() {
            let mut marked = 0;
            for (row, &word) in words.iter().enumerate() {
                marked |= marks[usize::from(number(word))] << row;
            }
            left |= u64::from(marked) << (8 * byte);
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
    /// Of words in order. Their places are their slots.
    fn new(words: &[u64]) -> Self {
        let (Some(&least), Some(&greatest)) = (words.first(), words.last()) else { return Self::Nothing };
        let slots = || words.iter().copied().zip(0u32..);
        let mut marks = no_marks();
        if greatest - least < CLOSE {
            let mut found: Box<[u32]> = vec![Place::FREE.slot; (greatest - least + 1) as usize].into();
            for (word, slot) in slots() {
                marks[(word - least) as usize] = 1;
                found[(word - least) as usize] = slot;
            }
            return Self::Close { least, marks, slots: found };
        }
        let mut places: Box<[Place]> = vec![Place::FREE; (words.len() * PLACES).next_power_of_two()].into();
        let shift = 64 - places.len().ilog2();
        for (word, slot) in slots() {
            marks[usize::from(hashed(word))] = 1;
            let mut place = (hash(word) >> shift) as usize;
            while places[place].slot != Place::FREE.slot {
                place = (place + 1) % places.len();
            }
            places[place] = Place { word, slot };
        }
        Self::Hashed { marks, places, shift }
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
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn as_a_search(asked: Vec<(u8, bool)>, is_close: bool, others: Vec<u64>, hidden: u64) {
            let word = |&(word, up): &(u8, bool)| {
                let word = u64::from(word);
                if is_close { word * 200 + 5 } else if up { word << 56 } else { word }
            };
            let wanted: BTreeSet<u64> = asked.iter().map(word).collect();
            let wanted: Vec<u64> = wanted.into_iter().collect();
            let points = Points::new(&wanted);
            prop_assert_eq!(points.slots(), wanted.len());
            let mut words: Vec<u64> = wanted.iter().copied().chain(others).chain([0, u64::MAX]).collect();
            words.resize(words.len().next_multiple_of(Bits::BLOCK), 7);
            let mut found = vec![None; words.len()];
            let rows = |block: usize| if block == 0 { !hidden } else { u64::MAX };
            points.find(&words, rows, |slot, row| found[usize::from(row)] = Some(slot as usize));
            for (row, (word, slot)) in words.iter().zip(found).enumerate() {
                let is_hidden = row < 64 && hidden >> row & 1 != 0;
                let expected = wanted.binary_search(word).ok().filter(|_| !is_hidden);
                prop_assert_eq!(slot, expected);
            }
        }
    }
}
