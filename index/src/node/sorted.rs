//! A node with one sorted array of keys: the classic layout.
//!
//! The header's line has the fields of the node as a whole, followed by all keys and then all
//! values. A lookup is a binary search. Which lines it reads depends on the keys it compares with,
//! so the whole node must be fetched before: [`FIRST`](Layout::FIRST) is the node, and
//! [`locate`](Layout::locate) adds nothing.

use super::pairs::Pairs;
use super::{
    DescendResult, FindResult, HEADER_BYTES, Layout, ModifyResult, NodeDefect, RemoveResult, ScanNext,
    Siblings, WriteMode, WriteResult,
};
use crate::key_space::Words;
use core::hint::select_unpredictable;
use xtasking::{Part, Version, Word, arena::WriteToken, platform::CACHE_LINE};

const COUNT: usize = 0;
const STATE: usize = 1;
const RIGHT: usize = 2;
const HIGH: usize = 3;
const LOW: usize = 4;
/// The index of the first key: the first word of line 1.
const KEYS: usize = (CACHE_LINE - HEADER_BYTES) / 8;

/// Fills the array after the last key; the count distinguishes it from a key `u64::MAX`.
const PADDING: u64 = u64::MAX;

/// Bits of the state word: the node is dead; the level.
const DEAD: u64 = 1;
const LEVEL_SHIFT: u32 = 8;

/// A node of `WORDS` words with one sorted array of keys.
///
/// `WORDS` is a power of two minus the two words of the header: 62, 126 (the default, 1 KiB), 254
/// or 510.
#[repr(C)]
pub struct SortedNode<const WORDS: usize> {
    words: [Word; WORDS],
}

impl<const WORDS: usize> SortedNode<WORDS> {
    const MAX_ENTRIES: usize = {
        assert!(WORDS >= 62 && WORDS <= 510 && (WORDS + 2).is_power_of_two());
        (WORDS - KEYS) / 2
    };

    #[inline(always)]
    fn keys(&self) -> &[Word] {
        &self.words[KEYS..KEYS + Self::MAX_ENTRIES]
    }

    #[inline(always)]
    fn values(&self) -> &[Word] {
        &self.words[KEYS + Self::MAX_ENTRIES..KEYS + 2 * Self::MAX_ENTRIES]
    }

    /// Number of entries.
    #[inline(always)]
    fn count(&self) -> usize {
        // A torn node's count is still one that was stored there; the bound is for the compiler.
        (self.words[COUNT].get() as usize).min(Self::MAX_ENTRIES)
    }

    /// Returns the number of keys below `key`. The steps depend neither on a key nor, due to the
    /// padding, on the count.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn rank(&self, key: u64) -> usize {
        let (keys, mut from, mut size) = (self.keys(), 0, Self::MAX_ENTRIES);
        while size > 1 {
            let half = size / 2;
            from = select_unpredictable(keys[from + half - 1].get() < key, from + half, from);
            size -= half;
        }
        from + usize::from(keys[from].get() < key)
    }

    /// Returns true if `key` is at index `at`, which must be the number of keys below it.
    #[inline(always)]
    fn holds(&self, key: u64, at: usize) -> bool {
        at < self.count() && self.keys()[at].get() == key
    }

    #[inline(always)]
    fn pair(&self, at: usize) -> (u64, u64) {
        (self.keys()[at].get(), self.values()[at].get())
    }

    #[inline(always)]
    fn set(&self, at: usize, (key, value): (u64, u64), token: &WriteToken<'_>) {
        self.keys()[at].set(key, token);
        self.values()[at].set(value, token);
    }

    /// Returns the right link for a `key` not below the node's `high`; `None` if the node covers
    /// `u64::MAX`.
    #[cold]
    #[inline(never)]
    fn beyond(&self, key: u64) -> Option<u64> {
        let right = self.words[RIGHT].get();
        (right != 0 && key >= self.words[HIGH].get()).then_some(right)
    }

    /// Returns the right link if the node does not cover `key`.
    #[inline(always)]
    fn right_link_for(&self, key: u64) -> Option<u64> {
        if key >= self.words[HIGH].get() { self.beyond(key) } else { None }
    }

    /// Removes the entry at `at`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn remove_at(&self, at: usize, token: &WriteToken<'_>) -> RemoveResult {
        let (count, value) = (self.count(), self.values()[at].get());
        for to in at..count - 1 {
            self.set(to, self.pair(to + 1), token);
        }
        self.keys()[count - 1].set(PADDING, token);
        self.words[COUNT].set(count as u64 - 1, token);
        // At some counts only: if the neighbours are full, each further removal would try in vain.
        let left = count - 1;
        RemoveResult::Done { value, sparse: left <= Self::SPARSE && left.is_multiple_of(4) }
    }

    /// Changes a node that is not shared.
    fn with_exclusive_token(&mut self, change: impl FnOnce(&Self, &WriteToken<'_>)) {
        // SAFETY: the exclusive borrow excludes all other readers and writers while the token
        // lives.
        change(self, &unsafe { WriteToken::assume() });
    }

    /// Keeps only the first `count` entries.
    fn truncate(&self, count: usize, token: &WriteToken<'_>) {
        self.keys()[count..].iter().for_each(|key| key.set(PADDING, token));
        self.words[COUNT].set(count as u64, token);
    }

    /// Replaces everything but the node's level and low key.
    fn set_all(&self, pairs: &[(u64, u64)], high: u64, right: u64, token: &WriteToken<'_>) {
        pairs.iter().enumerate().for_each(|(at, &pair)| self.set(at, pair, token));
        self.truncate(pairs.len(), token);
        self.words[HIGH].set(high, token);
        self.words[RIGHT].set(right, token);
    }

    fn gather(&self) -> Pairs<WORDS> {
        let mut pairs = Pairs::new();
        (0..self.count()).map(|at| self.pair(at)).for_each(|(key, value)| pairs.push(key, value));
        pairs
    }
}

impl<const WORDS: usize> Version for SortedNode<WORDS> {}

// SAFETY: the words for links never hold anything but 0 and links, and each is read and written as
// a whole.
unsafe impl<const WORDS: usize> Layout for SortedNode<WORDS> {
    type Keys = Words;
    type Place = ();
    type Replaced = core::convert::Infallible;

    const CAPACITY: usize = Self::MAX_ENTRIES;
    const FIRST: Part = Self::ALL;
    const ALL: Part = Part::lines(0, ((WORDS * 8 + HEADER_BYTES) / CACHE_LINE) as u16);
    const NAME: &'static str = "sorted";

    fn new(level: u64, low: u64) -> Self {
        let mut node = Self { words: [const { Word::new(0) }; WORDS] };
        node.with_exclusive_token(|node, token| {
            node.words[STATE].set(level << LEVEL_SHIFT, token);
            node.words[LOW].set(low, token);
            node.words[HIGH].set(u64::MAX, token);
            node.truncate(0, token);
        });
        node
    }

    #[inline(always)]
    fn place_of(&self, _: u64) {}

    #[inline(always)]
    fn part_of((): ()) -> Part {
        Part::NONE
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn find_at(&self, key: u64, (): ()) -> FindResult {
        if let Some(link) = self.right_link_for(key) {
            return FindResult::Right(link);
        }
        let at = self.rank(key);
        if self.holds(key, at) { FindResult::Value(self.values()[at].get()) } else { FindResult::Missing }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn descend_at(&self, key: u64, (): ()) -> DescendResult {
        if let Some(link) = self.right_link_for(key) {
            return DescendResult::Right(link);
        }
        // The greatest entry not above `key` precedes the first entry above it.
        let not_above = match key.checked_add(1) {
            Some(next) => self.rank(next),
            None => self.count(),
        };
        DescendResult::Child(self.values()[not_above.wrapping_sub(1).min(Self::MAX_ENTRIES - 1)].get())
    }

    #[inline]
    fn level(&self) -> u64 {
        self.words[STATE].get() >> LEVEL_SHIFT
    }

    #[inline]
    fn low(&self) -> u64 {
        self.words[LOW].get()
    }

    #[inline]
    fn high(&self) -> Option<u64> {
        (self.right() != 0).then(|| self.words[HIGH].get())
    }

    #[inline]
    fn right(&self) -> u64 {
        self.words[RIGHT].get()
    }

    #[inline]
    fn is_dead(&self) -> bool {
        self.words[STATE].get() & DEAD != 0
    }

    #[inline]
    fn len(&self) -> usize {
        self.count()
    }

    #[inline]
    fn visit(&self, from: u64, mut visit: impl FnMut(u64, u64)) -> ScanNext {
        if self.is_dead() {
            return ScanNext::Right { link: self.right(), low: from };
        }
        (self.rank(from)..self.count()).map(|at| self.pair(at)).for_each(|(key, value)| visit(key, value));
        match self.right() {
            0 => ScanNext::End,
            link => ScanNext::Right { link, low: self.words[HIGH].get() },
        }
    }

    fn siblings(&self, key: u64) -> Option<Siblings> {
        self.gather().siblings(key)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write(&self, key: u64, value: u64, mode: WriteMode, token: &WriteToken<'_>) -> WriteResult {
        if let Some(link) = self.right_link_for(key) {
            return WriteResult::Right(link);
        }
        let (at, count) = (self.rank(key), self.count());
        if self.holds(key, at) {
            let old = self.values()[at].get();
            if mode == WriteMode::Insert {
                return WriteResult::Exists(old);
            }
            self.values()[at].set(value, token);
            return WriteResult::Replaced(old);
        }
        if mode == WriteMode::Update {
            return WriteResult::Missing;
        }
        if count == Self::MAX_ENTRIES {
            return WriteResult::Full;
        }
        for to in (at + 1..count + 1).rev() {
            self.set(to, self.pair(to - 1), token);
        }
        self.set(at, (key, value), token);
        self.words[COUNT].set(count as u64 + 1, token);
        WriteResult::Inserted
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn modify(&self, key: u64, change: impl FnOnce(u64) -> u64, token: &WriteToken<'_>) -> ModifyResult {
        if let Some(link) = self.right_link_for(key) {
            return ModifyResult::Right(link);
        }
        let at = self.rank(key);
        if !self.holds(key, at) {
            return ModifyResult::Missing;
        }
        let old = self.values()[at].get();
        let new = change(old);
        self.values()[at].set(new, token);
        ModifyResult::Done { old, new }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn remove(&self, key: u64, token: &WriteToken<'_>) -> RemoveResult {
        if let Some(link) = self.right_link_for(key) {
            return RemoveResult::Right(link);
        }
        let at = self.rank(key);
        if self.holds(key, at) { self.remove_at(at, token) } else { RemoveResult::Missing }
    }

    fn remove_child(&self, separator: u64, token: &WriteToken<'_>) -> RemoveResult {
        if separator == self.low() && !self.is_dead() {
            return RemoveResult::Missing;
        }
        self.remove(separator, token)
    }

    fn split(&self, right: &mut Self, link: u64, pending: u64, token: &WriteToken<'_>) -> u64 {
        let pairs = self.gather();
        let (stay, separator) = pairs.split_point(self.right() == 0, self.level(), pending);
        let right_pairs = &pairs.as_slice()[stay..];
        right.with_exclusive_token(|right, token| {
            right.words[LOW].set(separator, token);
            right.set_all(right_pairs, self.words[HIGH].get(), self.right(), token);
        });
        // The left entries stay in place.
        self.truncate(stay, token);
        self.words[HIGH].set(separator, token);
        self.words[RIGHT].set(link, token);
        separator
    }

    fn absorb(&self, link: u64, right: &Self, token: &WriteToken<'_>, right_token: &WriteToken<'_>) -> bool {
        let (count, others) = (self.count(), right.count());
        if count + others > Self::MAX_ENTRIES {
            return false;
        }
        (0..others).for_each(|at| self.set(count + at, right.pair(at), token));
        self.words[COUNT].set((count + others) as u64, token);
        self.words[HIGH].set(right.words[HIGH].get(), token);
        self.words[RIGHT].set(right.right(), token);
        right.words[COUNT].set(0, right_token);
        // From now on every key is beyond the dead node's bound, and its right link leads to this
        // node.
        right.words[HIGH].set(0, right_token);
        right.words[RIGHT].set(link, right_token);
        right.words[STATE].set(right.words[STATE].get() | DEAD, right_token);
        true
    }

    fn set_right(&self, link: u64, token: &WriteToken<'_>) {
        self.words[RIGHT].set(link, token);
    }

    fn fill(&mut self, pairs: &[(u64, u64)], next: Option<(u64, u64)>) {
        assert!(pairs.len() <= Self::MAX_ENTRIES, "too many pairs for a node");
        let (high, right) = next.unwrap_or((u64::MAX, 0));
        self.with_exclusive_token(|node, token| node.set_all(pairs, high, right, token));
    }

    #[inline(always)]
    fn take_replaced(&self, _: &WriteToken<'_>) -> Option<Self::Replaced> {
        None
    }

    fn check(&self) -> Vec<NodeDefect> {
        let mut broken = Vec::new();
        let mut expect = |holds: bool, invariant, at| {
            if !holds {
                broken.push(NodeDefect { invariant, key: at });
            }
        };
        let (low, high, count) = (self.low(), self.words[HIGH].get(), self.words[COUNT].get() as usize);
        if self.is_dead() {
            expect(high == 0, "a dead node has no high key", high);
            return broken;
        }
        expect(self.right() != 0 || high == u64::MAX, "the rightmost node has no high key", high);
        expect(self.right() == 0 || low < high, "low is below high", low);
        expect(count <= Self::MAX_ENTRIES, "the count fits the node", count as u64);
        let padding = self.keys().iter().skip(count);
        expect(padding.map(Word::get).all(|key| key == PADDING), "padding follows the keys", low);
        let pairs = self.gather();
        let keys = || pairs.as_slice().iter().map(|pair| pair.0);
        if self.level() > 0 {
            expect(keys().next() == Some(low), "an inner node's first key is its low key", low);
        }
        expect(keys().is_sorted_by(|one, next| one < next), "keys ascend", low);
        expect(keys().all(|key| low <= key), "no key is below low", low);
        expect(self.right() == 0 || keys().all(|key| key < high), "every key is below high", high);
        broken
    }
}
