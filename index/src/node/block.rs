//! Blocks of a hinted node: up to eight entries in two cache lines.

use super::search::{self, LINE_WORDS};
use core::hint::select_unpredictable;
use xtasking::{Word, arena::WriteToken};

/// Entries of a block: a cache line of keys.
pub(super) const BLOCK_ENTRIES: usize = LINE_WORDS;
/// Fills the line of keys after the last key.
pub(super) const PADDING: u64 = u64::MAX;

/// A cache line of keys and a cache line of values.
#[derive(Clone, Copy)]
pub(super) struct Block<'a>(&'a [Word; 2 * BLOCK_ENTRIES]);

impl<'a> Block<'a> {
    #[inline(always)]
    pub(super) fn new(words: &'a [Word; 2 * BLOCK_ENTRIES]) -> Self {
        Self(words)
    }

    #[inline(always)]
    pub(super) fn key(self, at: usize) -> u64 {
        self.0[at].get()
    }

    /// The value of the key at `at`, which must be less than `BLOCK_ENTRIES`.
    #[inline(always)]
    pub(super) fn value(self, at: usize) -> &'a Word {
        &self.0[BLOCK_ENTRIES + at % BLOCK_ENTRIES]
    }

    #[inline(always)]
    fn keys(self) -> &'a [Word; BLOCK_ENTRIES] {
        let (keys, _) = self.0.split_first_chunk().expect("a block is longer than its keys");
        keys
    }

    /// Returns the number of keys below `key`: the index of `key` if the block has it, or where to
    /// insert it if the block is not full. No branch depends on the key.
    ///
    /// The last key is not compared. If it is below `key`, then the block is full and does not have
    /// `key`.
    #[inline(always)]
    pub(super) fn lower_bound(self, key: u64) -> usize {
        search::lower_bound(self.keys(), key)
    }

    /// Returns the index of the greatest key not above `key`, in a block whose first key is not
    /// above it.
    #[inline(always)]
    pub(super) fn last_not_above(self, key: u64) -> usize {
        search::last_not_above(self.keys(), key)
    }

    /// Returns the number of keys below `key`, comparing all keys.
    #[inline]
    pub(super) fn rank(self, key: u64) -> usize {
        self.lower_bound(key) + usize::from(self.key(BLOCK_ENTRIES - 1) < key)
    }

    #[inline(always)]
    pub(super) fn is_full(self) -> bool {
        self.key(BLOCK_ENTRIES - 1) != PADDING
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        self.rank(PADDING)
    }

    #[inline(always)]
    pub(super) fn set(self, at: usize, key: u64, value: u64, token: &WriteToken<'_>) {
        self.0[at].set(key, token);
        self.0[BLOCK_ENTRIES + at].set(value, token);
    }

    /// Copies an entry over another one.
    #[inline(always)]
    pub(super) fn copy(self, from: usize, to: usize, token: &WriteToken<'_>) {
        self.set(to, self.key(from), self.value(from).get(), token);
    }

    /// Inserts an entry at `at` into a block that is not full.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn insert(self, at: usize, key: u64, value: u64, token: &WriteToken<'_>) {
        for to in (1..BLOCK_ENTRIES).rev() {
            let from = select_unpredictable(to > at, to - 1, to);
            self.copy(from, to, token);
        }
        self.set(at % BLOCK_ENTRIES, key, value, token);
    }

    /// Removes the entry at `at` and returns its value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn remove(self, at: usize, token: &WriteToken<'_>) -> u64 {
        let value = self.value(at).get();
        for to in at..BLOCK_ENTRIES - 1 {
            self.copy(to + 1, to, token);
        }
        self.0[BLOCK_ENTRIES - 1].set(PADDING, token);
        value
    }

    /// Replaces all entries by up to `BLOCK_ENTRIES` others.
    pub(super) fn set_all(self, pairs: &[(u64, u64)], token: &WriteToken<'_>) {
        debug_assert!(pairs.len() <= BLOCK_ENTRIES);
        for at in 0..BLOCK_ENTRIES {
            let (key, value) = pairs.get(at).copied().unwrap_or((PADDING, 0));
            self.set(at, key, value, token);
        }
    }

    /// Calls `visit` for the entries from index `first` on.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn visit(self, first: usize, mut visit: impl FnMut(u64, u64)) {
        for at in first..BLOCK_ENTRIES {
            let key = self.key(at);
            if key == PADDING {
                break;
            }
            visit(key, self.value(at).get());
        }
    }
}
