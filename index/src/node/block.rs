//! Blocks of a hinted node: up to eight entries in two lines.

use core::hint::select_unpredictable;
use xtasking::{LINE, Word, WriteToken};

/// Entries of a block: a line of keys.
pub(super) const ENTRIES: usize = LINE / 8;
/// What follows a block's keys up to the line's end.
pub(super) const PADDING: u64 = u64::MAX;

/// A line of keys and a line of values.
#[derive(Clone, Copy)]
pub(super) struct Block<'a>(&'a [Word; 2 * ENTRIES]);

impl<'a> Block<'a> {
    #[inline(always)]
    pub(super) fn new(words: &'a [Word; 2 * ENTRIES]) -> Self {
        Self(words)
    }

    #[inline(always)]
    pub(super) fn key(self, at: usize) -> u64 {
        self.0[at].get()
    }

    /// The value beside the key at `at`, which is less than `ENTRIES`.
    #[inline(always)]
    pub(super) fn value(self, at: usize) -> &'a Word {
        &self.0[ENTRIES + at % ENTRIES]
    }

    /// Where `key` is if the block holds it, or where it goes if the block is not full: the number of keys
    /// below it. No branch depends on the key.
    ///
    /// The last key is left out: if that is below `key` too, then `key` is not there and the block is full.
    #[inline(always)]
    pub(super) fn place(self, key: u64) -> usize {
        let below = |at: usize| self.key(at) < key;
        let half = select_unpredictable(below(3), 4, 0);
        half + usize::from(below(half)) + usize::from(below(half + 1)) + usize::from(below(half + 2))
    }

    /// Where the greatest key not above `key` is, in a block whose first key is not above it.
    #[inline(always)]
    pub(super) fn cover(self, key: u64) -> usize {
        let reaches = |at: usize| self.key(at) <= key;
        let half = select_unpredictable(reaches(4), 4, 0);
        half + usize::from(reaches(half + 1))
            + usize::from(reaches(half + 2))
            + usize::from(reaches(half + 3))
    }

    /// How many keys are below `key`.
    #[inline]
    pub(super) fn below(self, key: u64) -> usize {
        self.place(key) + usize::from(self.key(ENTRIES - 1) < key)
    }

    #[inline(always)]
    pub(super) fn is_full(self) -> bool {
        self.key(ENTRIES - 1) != PADDING
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        self.below(PADDING)
    }

    #[inline(always)]
    pub(super) fn set(self, at: usize, key: u64, value: u64, token: &WriteToken<'_>) {
        self.0[at].set(key, token);
        self.0[ENTRIES + at].set(value, token);
    }

    /// Copies an entry over another one.
    #[inline(always)]
    pub(super) fn copy(self, from: usize, to: usize, token: &WriteToken<'_>) {
        self.set(to, self.key(from), self.value(from).get(), token);
    }

    /// Adds an entry at `at` to a block that is not full.
    #[inline(always)]
    pub(super) fn insert(self, at: usize, key: u64, value: u64, token: &WriteToken<'_>) {
        for to in (1..ENTRIES).rev() {
            let from = select_unpredictable(to > at, to - 1, to);
            self.copy(from, to, token);
        }
        self.set(at % ENTRIES, key, value, token);
    }

    /// Takes the entry at `at` out and returns its value.
    #[inline(always)]
    pub(super) fn remove(self, at: usize, token: &WriteToken<'_>) -> u64 {
        let value = self.value(at).get();
        for to in at..ENTRIES - 1 {
            self.copy(to + 1, to, token);
        }
        self.0[ENTRIES - 1].set(PADDING, token);
        value
    }

    /// Replaces all entries by up to `ENTRIES` others.
    pub(super) fn set_all(self, pairs: &[(u64, u64)], token: &WriteToken<'_>) {
        debug_assert!(pairs.len() <= ENTRIES);
        for at in 0..ENTRIES {
            let (key, value) = pairs.get(at).copied().unwrap_or((PADDING, 0));
            self.set(at, key, value, token);
        }
    }

    /// Calls `visit` with the entries from index `first` on.
    #[inline(always)]
    pub(super) fn visit(self, first: usize, mut visit: impl FnMut(u64, u64)) {
        for at in first..ENTRIES {
            let key = self.key(at);
            if key == PADDING {
                break;
            }
            visit(key, self.value(at).get());
        }
    }
}
