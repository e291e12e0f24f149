//! Blocks of a node for byte strings: up to eight entries in five cache lines.
//!
//! ```text
//! line 0     heads: the first eight bytes of each key behind the node's prefix
//! line 1     values
//! line 2-4   a word with a code for each entry, and 23 words of tails
//! ```
//!
//! What follows the head of a key is its *tail*: whole words, padded with zeros. Heads and words of
//! tails are numbers whose first byte is the most significant one, so they have the order of the
//! bytes. The *code* of an entry says how long the rest of the key behind the prefix is, and so how
//! many words its tail has. The tails follow each other in the order of the entries.

use super::probe::{Probe, word_at};
use super::side::Side;
use crate::node::search::{self, LINE_WORDS};
use core::cmp::Ordering;
use xtasking::{Word, arena::WriteToken};

/// Entries of a block.
pub(super) const BLOCK_ENTRIES: usize = LINE_WORDS;
/// Words of a block.
pub(super) const BLOCK_WORDS: usize = 5 * LINE_WORDS;
/// Words of a block for tails.
pub(super) const TAIL_WORDS: usize = BLOCK_WORDS - TAILS;
/// The longest rest of a key that a block holds; what is longer is in the side record.
pub(super) const MAX_REST: usize = 64;

const VALUES: usize = BLOCK_ENTRIES;
const CODES: usize = 2 * BLOCK_ENTRIES;
const TAILS: usize = CODES + 1;

/// The code of an entry that does not exist. Those of others are above.
const NO_ENTRY: u8 = 0;
/// The code of an entry whose key is in the side record. Its tail is the index there.
const LONG: u8 = u8::MAX;
/// The head of an entry that does not exist.
const PADDING: u64 = u64::MAX;

/// What a block holds of a key: its rest behind the prefix.
#[derive(Clone, Copy)]
pub(super) enum Rest<'k> {
    /// All of it.
    Whole(&'k [u8]),
    /// Its head, and the index of the key in the side record.
    Long {
        /// The first word.
        head: u64,
        /// The index.
        index: u64,
    },
}

impl Rest<'_> {
    fn head(self) -> u64 {
        match self {
            Self::Whole(rest) => word_at(rest, 0),
            Self::Long { head, .. } => head,
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Whole(rest) => rest.len() as u8 + 1,
            Self::Long { .. } => LONG,
        }
    }

    fn tail(self, at: usize) -> u64 {
        match self {
            Self::Whole(rest) => word_at(rest, 8 * (at + 1)),
            Self::Long { index, .. } => index,
        }
    }
}

/// Returns the words of the tail of a key whose rest has `len` bytes.
#[inline(always)]
pub(super) const fn tail_words(len: usize) -> usize {
    if len > MAX_REST { 1 } else { len.saturating_sub(8).div_ceil(8) }
}

#[inline(always)]
const fn tail_words_of(code: u8) -> usize {
    match code {
        NO_ENTRY => 0,
        LONG => 1,
        code => tail_words(code as usize - 1),
    }
}

/// Returns the code of an entry.
#[inline(always)]
const fn code_at(codes: u64, at: usize) -> u8 {
    (codes >> (8 * (at % BLOCK_ENTRIES))) as u8
}

/// Five cache lines of a node.
#[derive(Clone, Copy)]
pub(super) struct Block<'a>(&'a [Word; BLOCK_WORDS]);

impl<'a> Block<'a> {
    #[inline(always)]
    pub(super) fn new(words: &'a [Word; BLOCK_WORDS]) -> Self {
        Self(words)
    }

    #[inline(always)]
    fn codes(self) -> u64 {
        self.0[CODES].get()
    }

    #[inline(always)]
    pub(super) fn head(self, at: usize) -> u64 {
        self.0[at % BLOCK_ENTRIES].get()
    }

    #[inline(always)]
    pub(super) fn value(self, at: usize) -> &'a Word {
        &self.0[VALUES + at % BLOCK_ENTRIES]
    }

    /// A word of tails; 0 beyond the last, where only a reader of a torn node looks.
    #[inline(always)]
    fn tail(self, at: usize) -> u64 {
        self.0.get(TAILS + at).map_or(0, Word::get)
    }

    /// Returns the first word of the tail of an entry.
    #[inline(always)]
    fn tail_start(self, at: usize) -> usize {
        let codes = self.codes();
        (0..at).map(|at| tail_words_of(code_at(codes, at))).sum()
    }

    /// Returns the number of entries.
    #[inline]
    pub(super) fn len(self) -> usize {
        let codes = self.codes();
        (0..BLOCK_ENTRIES).take_while(|&at| code_at(codes, at) != NO_ENTRY).count()
    }

    #[inline(always)]
    pub(super) fn has_entry(self, at: usize) -> bool {
        at < BLOCK_ENTRIES && code_at(self.codes(), at) != NO_ENTRY
    }

    /// Returns the index of the first entry whose key is not below the probe, and whether it is
    /// that key.
    #[inline(always)]
    pub(super) fn search(self, probe: &Probe<'_>, side: impl Fn() -> &'a Side) -> (usize, bool) {
        let (heads, _) = self.0.split_first_chunk().expect("a block is longer than its heads");
        let mut at = search::lower_bound(heads, probe.head);
        at += usize::from(self.head(at) < probe.head);
        while at < BLOCK_ENTRIES && self.head(at) == probe.head {
            match self.compare(at, probe, &side) {
                Ordering::Less => at += 1,
                Ordering::Equal => return (at, true),
                Ordering::Greater => break,
            }
        }
        (at, false)
    }

    /// Compares the key of an entry, whose head is that of the probe, with the probe. What does not
    /// exist is above all keys.
    #[inline(always)]
    fn compare(self, at: usize, probe: &Probe<'_>, side: impl Fn() -> &'a Side) -> Ordering {
        let code = code_at(self.codes(), at);
        if code == NO_ENTRY {
            return Ordering::Greater;
        }
        let start = self.tail_start(at);
        if code == LONG {
            return side().long_key(self.tail(start)).cmp(probe.key);
        }
        for word in 0..tail_words_of(code) {
            match self.tail(start + word).cmp(&probe.rest_word(word + 1)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        }
        (code as usize - 1).cmp(&probe.rest().len())
    }

    /// Appends the rest of an entry's key to `key`, which has the prefix. The key of a long entry
    /// replaces it.
    pub(super) fn append_rest(self, at: usize, key: &mut Vec<u8>, side: impl Fn() -> &'a Side) {
        let (code, start) = (code_at(self.codes(), at), self.tail_start(at));
        if code == LONG {
            key.clear();
            key.extend_from_slice(side().long_key(self.tail(start)));
            return;
        }
        let end = key.len() + (code as usize).saturating_sub(1);
        key.extend_from_slice(&self.head(at).to_be_bytes());
        for word in 0..tail_words_of(code) {
            key.extend_from_slice(&self.tail(start + word).to_be_bytes());
        }
        key.truncate(end);
    }

    /// Returns true if an entry with a tail of `words` words fits.
    pub(super) fn has_room(self, words: usize) -> bool {
        let codes = self.codes();
        code_at(codes, BLOCK_ENTRIES - 1) == NO_ENTRY && self.tail_start(BLOCK_ENTRIES) + words <= TAIL_WORDS
    }

    /// Returns the index of an entry's key in the side record, if the key is there.
    pub(super) fn long_index(self, at: usize) -> Option<u64> {
        (code_at(self.codes(), at) == LONG).then(|| self.tail(self.tail_start(at)))
    }

    /// Inserts an entry that fits.
    pub(super) fn insert(self, at: usize, rest: Rest<'_>, value: u64, token: &WriteToken<'_>) {
        let (codes, len) = (self.codes(), self.len());
        let (start, end) = (self.tail_start(at), self.tail_start(len));
        let words = tail_words_of(rest.code());
        for to in (at + 1..=len).rev() {
            self.0[to].set(self.0[to - 1].get(), token);
            self.0[VALUES + to].set(self.0[VALUES + to - 1].get(), token);
        }
        for from in (start..end).rev() {
            self.0[TAILS + from + words].set(self.tail(from), token);
        }
        let below = codes & low_codes(at);
        let above = (codes & !low_codes(at)).unbounded_shl(8);
        self.0[CODES].set(below | u64::from(rest.code()) << (8 * at) | above, token);
        self.put(at, start, rest, value, token);
    }

    /// Removes an entry and returns its value.
    pub(super) fn remove(self, at: usize, token: &WriteToken<'_>) -> u64 {
        let (codes, len, value) = (self.codes(), self.len(), self.value(at).get());
        let (start, end) = (self.tail_start(at), self.tail_start(len));
        let words = tail_words_of(code_at(codes, at));
        for to in at..len - 1 {
            self.0[to].set(self.0[to + 1].get(), token);
            self.0[VALUES + to].set(self.0[VALUES + to + 1].get(), token);
        }
        self.0[len - 1].set(PADDING, token);
        for to in start..end - words {
            self.0[TAILS + to].set(self.tail(to + words), token);
        }
        let above = codes.unbounded_shr(8) & !low_codes(at);
        self.0[CODES].set(codes & low_codes(at) | above, token);
        value
    }

    /// Replaces all entries by others, which fit.
    pub(super) fn set_all<'k>(self, entries: impl Iterator<Item = (Rest<'k>, u64)>, token: &WriteToken<'_>) {
        let (mut start, mut codes, mut len) = (0, 0, 0);
        for (rest, value) in entries {
            self.put(len, start, rest, value, token);
            codes |= u64::from(rest.code()) << (8 * len);
            start += tail_words_of(rest.code());
            len += 1;
        }
        self.0[len..BLOCK_ENTRIES].iter().for_each(|head| head.set(PADDING, token));
        self.0[CODES].set(codes, token);
    }

    /// Writes an entry, except for its code.
    fn put(self, at: usize, start: usize, rest: Rest<'_>, value: u64, token: &WriteToken<'_>) {
        self.0[at].set(rest.head(), token);
        self.0[VALUES + at].set(value, token);
        for word in 0..tail_words_of(rest.code()) {
            self.0[TAILS + start + word].set(rest.tail(word), token);
        }
    }
}

/// Selects the codes of the entries before `at`.
const fn low_codes(at: usize) -> u64 {
    !u64::MAX.unbounded_shl(8 * at as u32)
}
