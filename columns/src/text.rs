//! Texts: the words that represent them in a scan, and their storage in a chunk.
//!
//! A column of texts has two columns of words. The first holds each text's *prefix*, its first
//! eight bytes, whose keys have the order of texts that differ there. The second holds a hash of
//! the whole text. A scan compares words, and reads a text only if its words match.

use crate::chunk::addresses;
use ahash::RandomState;
use std::ops::Range;

/// Returns the first eight bytes of a text, padded with zeros.
pub(crate) fn prefix(text: &str) -> u64 {
    let mut first = [0; 8];
    let count = text.len().min(8);
    first[..count].copy_from_slice(&text.as_bytes()[..count]);
    u64::from_be_bytes(first)
}

/// Returns a hash of a text, which is the same in all tables of a process.
pub(crate) fn hash(text: &str) -> u64 {
    RandomState::with_seeds(1, 2, 3, 4).hash_one(text)
}

/// The texts of a column of a chunk, appended to one buffer.
#[derive(Clone, Debug)]
pub(crate) struct ChunkTexts {
    bytes: String,
    /// The start and length of each row's text, in bytes.
    starts: Box<[usize]>,
    lengths: Box<[u32]>,
    /// The bytes of all rows' texts; the rest of the buffer is garbage.
    live_bytes: usize,
}

/// The buffer is compacted only if it has more garbage than this.
const MAX_GARBAGE_BYTES: usize = 4096;

/// The longest text: Arrow's 32-bit offsets reach no farther.
pub(crate) const MAX_TEXT_BYTES: usize = i32::MAX as usize;

impl ChunkTexts {
    /// Creates an empty text for each row.
    pub fn new(rows: usize) -> Self {
        Self {
            bytes: String::new(),
            starts: vec![0; rows].into(),
            lengths: vec![0; rows].into(),
            live_bytes: 0,
        }
    }

    pub fn get(&self, row: usize) -> &str {
        let start = self.starts[row];
        &self.bytes[start..start + self.lengths[row] as usize]
    }

    /// Sets a row's text, which has at most [`MAX_TEXT_BYTES`] bytes.
    pub fn set(&mut self, row: usize, text: &str) {
        self.live_bytes -= self.lengths[row] as usize;
        self.lengths[row] = 0;
        // The garbage exceeds the live bytes, so compaction costs no more than the writes did.
        if self.bytes.len() > 2 * self.live_bytes + MAX_GARBAGE_BYTES {
            self.compact();
        }
        self.starts[row] = self.bytes.len();
        self.lengths[row] = u32::try_from(text.len()).expect("plans reject longer texts");
        self.bytes.push_str(text);
        self.live_bytes += text.len();
    }

    /// Returns the addresses of the column's allocations.
    pub fn addresses(&self) -> impl Iterator<Item = Range<usize>> {
        [addresses(self.bytes.as_bytes()), addresses(&self.starts), addresses(&self.lengths)].into_iter()
    }

    fn compact(&mut self) {
        let mut all = String::with_capacity(self.live_bytes);
        for row in 0..self.starts.len() {
            let start = all.len();
            all.push_str(self.get(row));
            self.starts[row] = start;
        }
        self.bytes = all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn different_prefixes_have_the_order_of_their_texts(a in "[ab\0é]{0,10}", b in "[ab\0é]{0,10}") {
            prop_assert!(a <= b || prefix(&a) >= prefix(&b));
            prop_assert!(a != b || hash(&a) == hash(&b));
        }

        #[test]
        fn a_row_has_the_text_that_was_set_last(
            sets in prop::collection::vec((0..10usize, "[aé]{0,9}", 0..500usize), 0..200),
        ) {
            let (mut texts, mut expected) = (ChunkTexts::new(10), vec![String::new(); 10]);
            for (row, text, times) in sets {
                let text = text.repeat(times);
                texts.set(row, &text);
                expected[row] = text;
                prop_assert!((0..10).all(|row| texts.get(row) == expected[row]));
                let live_bytes: usize = expected.iter().map(String::len).sum();
                prop_assert_eq!(texts.live_bytes, live_bytes);
            }
        }
    }

    #[test]
    fn garbage_is_compacted() {
        let mut texts = ChunkTexts::new(100);
        for round in 0..1000 {
            (0..100).for_each(|row| texts.set(row, &format!("{round:05} {row:04}")));
            assert!(texts.bytes.len() <= 2 * texts.live_bytes + MAX_GARBAGE_BYTES + 10);
        }
        (0..99).for_each(|row| texts.set(row, ""));
        assert_eq!((texts.get(98), texts.get(99)), ("", "00999 0099"));
        texts.bytes.push_str(&"x".repeat(MAX_GARBAGE_BYTES));
        texts.set(0, "");
        assert_eq!(texts.bytes, "00999 0099");
    }
}
