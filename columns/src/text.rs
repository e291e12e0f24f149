//! Texts: the words that stand for them in a scan, and the texts themselves, which each chunk keeps for its rows.
//!
//! A column of texts has two columns of words. The first has each text's *prefix*, its first bytes, whose keys have the order
//! of the texts but for those that begin alike; the second has a hash of the whole text. So a scan compares words alone, and
//! looks at a text only if its words pass.

use crate::chunk::{Column, addresses};
use ahash::RandomState;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// The first eight bytes of a text, as far as it has them, and zeros behind.
pub(crate) fn prefix(text: &str) -> u64 {
    let mut first = [0; 8];
    let count = text.len().min(8);
    first[..count].copy_from_slice(&text.as_bytes()[..count]);
    u64::from_be_bytes(first)
}

/// A hash of a text, the same in all tables of a process.
pub(crate) fn hash(text: &str) -> u64 {
    RandomState::with_seeds(1, 2, 3, 4).hash_one(text)
}

/// The texts of a column of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    all: String,
    /// Where each row's begins, and how long it is.
    starts: Box<[usize]>,
    lengths: Box<[u32]>,
    /// The length of all that rows have; the rest of `all` is left over.
    used: usize,
}

/// So much may be left over before it is worth the while to move texts.
const LEFT_OVER: usize = 4096;

/// How long a text can be: Arrow's offsets of 32 bits reach no farther.
pub(crate) const LONGEST: usize = i32::MAX as usize;

impl Texts {
    /// An empty text for each row.
    pub fn new(rows: usize) -> Self {
        Self { all: String::new(), starts: vec![0; rows].into(), lengths: vec![0; rows].into(), used: 0 }
    }

    pub fn get(&self, row: usize) -> &str {
        let start = self.starts[row];
        &self.all[start..start + self.lengths[row] as usize]
    }

    /// Sets a row's text, which is not longer than [`LONGEST`].
    pub fn set(&mut self, row: usize, text: &str) {
        self.used -= self.lengths[row] as usize;
        self.lengths[row] = 0;
        // What is left over is at most as long as what is used, so that moving costs no more than writing did.
        if self.all.len() > 2 * self.used + LEFT_OVER {
            self.compact();
        }
        self.starts[row] = self.all.len();
        self.lengths[row] = u32::try_from(text.len()).expect("longer texts were refused");
        self.all.push_str(text);
        self.used += text.len();
    }

    /// Where its parts are in memory.
    pub fn addresses(&self) -> impl Iterator<Item = Range<usize>> {
        [addresses(self.all.as_bytes()), addresses(&self.starts), addresses(&self.lengths)].into_iter()
    }

    fn compact(&mut self) {
        let mut all = String::with_capacity(self.used);
        for row in 0..self.starts.len() {
            let start = all.len();
            all.push_str(self.get(row));
            self.starts[row] = start;
        }
        self.all = all;
    }
}

/// What words cannot tell of a text. It is asked of rows that have passed the checks of their words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Exact {
    /// It is this text.
    Equals(Arc<str>),
    /// It lies between these, of which those that there are have these prefixes.
    Between { from: Bound<Arc<str>>, to: Bound<Arc<str>>, low: u64, high: u64 },
}

impl Exact {
    /// Whether a row of a column passes.
    pub fn holds(&self, column: &Column, row: usize) -> bool {
        match self {
            Self::Equals(text) => column.text(row) == &**text,
            Self::Between { from, to, low, high } => {
                // A text that begins otherwise than a bound lies on the side where its prefix does.
                let word = column.words()[row];
                let after = match from {
                    Bound::Included(from) => word != *low || column.text(row) >= &**from,
                    Bound::Excluded(from) => word != *low || column.text(row) > &**from,
                    Bound::Unbounded => true,
                };
                after
                    && match to {
                        Bound::Included(to) => word != *high || column.text(row) <= &**to,
                        Bound::Excluded(to) => word != *high || column.text(row) < &**to,
                        Bound::Unbounded => true,
                    }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn prefixes_have_the_order_of_texts_that_begin_differently(a in "[ab\0é]{0,10}", b in "[ab\0é]{0,10}") {
            prop_assert!(a <= b || prefix(&a) >= prefix(&b));
            prop_assert!(a != b || hash(&a) == hash(&b));
        }

        #[test]
        fn texts_are_as_they_were_set(sets in prop::collection::vec((0..10usize, "[aé]{0,9}", 0..500usize), 0..200)) {
            let (mut texts, mut expected) = (Texts::new(10), vec![String::new(); 10]);
            for (row, text, times) in sets {
                let text = text.repeat(times);
                texts.set(row, &text);
                expected[row] = text;
                prop_assert!((0..10).all(|row| texts.get(row) == expected[row]));
                let used: usize = expected.iter().map(String::len).sum();
                prop_assert_eq!(texts.used, used);
            }
        }
    }

    #[test]
    fn what_is_left_over_is_given_back() {
        let mut texts = Texts::new(100);
        for round in 0..1000 {
            (0..100).for_each(|row| texts.set(row, &format!("{round:05} {row:04}")));
            assert!(texts.all.len() <= 2 * texts.used + LEFT_OVER + 10);
        }
        (0..99).for_each(|row| texts.set(row, ""));
        assert_eq!((texts.get(98), texts.get(99)), ("", "00999 0099"));
        texts.all.push_str(&"x".repeat(LEFT_OVER));
        texts.set(0, "");
        assert_eq!(texts.all, "00999 0099");
    }
}
