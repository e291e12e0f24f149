//! Nodes with one sorted array: the classic arrangement.
//!
//! The header's line holds what concerns the node as a whole, then come all keys, then all values. A lookup
//! is a binary search. Which lines it reads depends on the keys that it meets on its way, so nothing less
//! than the whole node can be fetched ahead of it: [`FIRST`](Layout::FIRST) is the node and
//! [`locate`](Layout::locate) adds nothing.

use super::pairs::Pairs;
use super::{Broken, Down, Found, HEADER, Layout, Modified, Onward, Removed, Siblings, Write, Wrote};
use core::hint::select_unpredictable;
use xtasking::{LINE, Part, Version, Word, WriteToken};

const COUNT: usize = 0;
const STATE: usize = 1;
const RIGHT: usize = 2;
const HIGH: usize = 3;
const LOW: usize = 4;
/// The first key: the first word of line 1.
const KEYS: usize = (LINE - HEADER) / 8;

/// What follows the keys; the count tells it from a key `u64::MAX`.
const PADDING: u64 = u64::MAX;

/// Bits of the state word: merged away; the level.
const DEAD: u64 = 1;
const LEVEL_SHIFT: u32 = 8;

/// A node of `WORDS` words with one sorted array of keys.
///
/// `WORDS` is a power of two, less the header's two words: 62, 126 (the usual 1 KiB), 254 or 510.
#[repr(C)]
pub struct Sorted<const WORDS: usize> {
    words: [Word; WORDS],
}

impl<const WORDS: usize> Sorted<WORDS> {
    const MOST: usize = {
        assert!(WORDS >= 62 && WORDS <= 510 && (WORDS + 2).is_power_of_two());
        (WORDS - KEYS) / 2
    };

    #[inline(always)]
    fn keys(&self) -> &[Word] {
        &self.words[KEYS..KEYS + Self::MOST]
    }

    #[inline(always)]
    fn values(&self) -> &[Word] {
        &self.words[KEYS + Self::MOST..KEYS + 2 * Self::MOST]
    }

    /// The number of entries.
    #[inline(always)]
    fn count(&self) -> usize {
        // A torn node's count is still a count that was there once; the bound is for the compiler.
        (self.words[COUNT].get() as usize).min(Self::MOST)
    }

    /// How many keys are below `key`. The steps depend on no key and, thanks to the padding, on no count.
    #[inline(always)]
    fn below(&self, key: u64) -> usize {
        let (keys, mut from, mut size) = (self.keys(), 0, Self::MOST);
        while size > 1 {
            let half = size / 2;
            from = select_unpredictable(keys[from + half - 1].get() < key, from + half, from);
            size -= half;
        }
        from + usize::from(keys[from].get() < key)
    }

    /// Whether `key` is at `at`, the number of keys below it.
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

    /// Where `key`, which is not below the node's `high`, belongs; `None` if the node covers `u64::MAX`.
    #[cold]
    #[inline(never)]
    fn beyond(&self, key: u64) -> Option<u64> {
        let right = self.words[RIGHT].get();
        (right != 0 && key >= self.words[HIGH].get()).then_some(right)
    }

    /// Where `key` belongs, if the node does not cover it.
    #[inline(always)]
    fn elsewhere(&self, key: u64) -> Option<u64> {
        if key >= self.words[HIGH].get() { self.beyond(key) } else { None }
    }

    /// Takes the entry at `at` out.
    #[inline(always)]
    fn take(&self, at: usize, token: &WriteToken<'_>) -> Removed {
        let (count, value) = (self.count(), self.values()[at].get());
        for to in at..count - 1 {
            self.set(to, self.pair(to + 1), token);
        }
        self.keys()[count - 1].set(PADDING, token);
        self.words[COUNT].set(count as u64 - 1, token);
        Removed::Done { value, empty: count == 1 }
    }

    /// Changes a node that nobody else can see.
    fn exclusively(&mut self, change: impl FnOnce(&Self, &WriteToken<'_>)) {
        // SAFETY: the exclusive borrow keeps everybody else away while the token lives.
        change(self, &unsafe { WriteToken::assume() });
    }

    /// Keeps the first `count` entries only.
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

// SAFETY: all of a node is words, which are atomic.
unsafe impl<const WORDS: usize> Version for Sorted<WORDS> {}

// SAFETY: the words of links hold nothing else, from the first writing on, and each is read and written whole.
unsafe impl<const WORDS: usize> Layout for Sorted<WORDS> {
    const CAPACITY: usize = Self::MOST;
    const FIRST: Part = Self::ALL;
    const ALL: Part = Part::lines(0, ((WORDS * 8 + HEADER) / LINE) as u16);
    const NAME: &'static str = "sorted";

    fn new(level: u64, low: u64) -> Self {
        let mut node = Self { words: [const { Word::new(0) }; WORDS] };
        node.exclusively(|node, token| {
            node.words[STATE].set(level << LEVEL_SHIFT, token);
            node.words[LOW].set(low, token);
            node.words[HIGH].set(u64::MAX, token);
            node.truncate(0, token);
        });
        node
    }

    #[inline(always)]
    fn locate(&self, _: u64) -> Part {
        Part::NONE
    }

    #[inline(always)]
    fn find(&self, key: u64) -> Found {
        if let Some(link) = self.elsewhere(key) {
            return Found::Right(link);
        }
        let at = self.below(key);
        if self.holds(key, at) { Found::Value(self.values()[at].get()) } else { Found::Missing }
    }

    #[inline(always)]
    fn descend(&self, key: u64) -> Down {
        if let Some(link) = self.elsewhere(key) {
            return Down::Right(link);
        }
        // The greatest entry not above `key` is the one before the first entry above it.
        let not_above = match key.checked_add(1) {
            Some(next) => self.below(next),
            None => self.count(),
        };
        Down::Child(self.values()[not_above.wrapping_sub(1).min(Self::MOST - 1)].get())
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
    fn visit(&self, from: u64, mut visit: impl FnMut(u64, u64)) -> Onward {
        if self.is_dead() {
            return Onward::Right { link: self.right(), low: from };
        }
        (self.below(from)..self.count()).map(|at| self.pair(at)).for_each(|(key, value)| visit(key, value));
        match self.right() {
            0 => Onward::End,
            link => Onward::Right { link, low: self.words[HIGH].get() },
        }
    }

    fn siblings(&self, key: u64) -> Option<Siblings> {
        self.gather().siblings(key)
    }

    #[inline(always)]
    fn write(&self, key: u64, value: u64, how: Write, token: &WriteToken<'_>) -> Wrote {
        if let Some(link) = self.elsewhere(key) {
            return Wrote::Right(link);
        }
        let (at, count) = (self.below(key), self.count());
        if self.holds(key, at) {
            let old = self.values()[at].get();
            if how == Write::Insert {
                return Wrote::Exists(old);
            }
            self.values()[at].set(value, token);
            return Wrote::Replaced(old);
        }
        if how == Write::Update {
            return Wrote::Missing;
        }
        if count == Self::MOST {
            return Wrote::Full;
        }
        for to in (at + 1..count + 1).rev() {
            self.set(to, self.pair(to - 1), token);
        }
        self.set(at, (key, value), token);
        self.words[COUNT].set(count as u64 + 1, token);
        Wrote::Inserted
    }

    #[inline(always)]
    fn modify(&self, key: u64, change: impl FnOnce(u64) -> u64, token: &WriteToken<'_>) -> Modified {
        if let Some(link) = self.elsewhere(key) {
            return Modified::Right(link);
        }
        let at = self.below(key);
        if !self.holds(key, at) {
            return Modified::Missing;
        }
        let old = self.values()[at].get();
        let new = change(old);
        self.values()[at].set(new, token);
        Modified::Done { old, new }
    }

    #[inline(always)]
    fn remove(&self, key: u64, token: &WriteToken<'_>) -> Removed {
        if let Some(link) = self.elsewhere(key) {
            return Removed::Right(link);
        }
        let at = self.below(key);
        if self.holds(key, at) { self.take(at, token) } else { Removed::Missing }
    }

    fn remove_child(&self, separator: u64, token: &WriteToken<'_>) -> Removed {
        if separator == self.low() && !self.is_dead() {
            return Removed::Missing;
        }
        self.remove(separator, token)
    }

    fn split(&self, right: &mut Self, link: u64, pending: u64, token: &WriteToken<'_>) -> u64 {
        let pairs = self.gather();
        let (stay, separator) = pairs.divide(self.right() == 0, self.level(), pending);
        let right_pairs = &pairs.as_slice()[stay..];
        right.exclusively(|right, token| {
            right.words[LOW].set(separator, token);
            right.set_all(right_pairs, self.words[HIGH].get(), self.right(), token);
        });
        // The left entries are where they were.
        self.truncate(stay, token);
        self.words[HIGH].set(separator, token);
        self.words[RIGHT].set(link, token);
        separator
    }

    fn absorb(&self, link: u64, right: &Self, token: &WriteToken<'_>, right_token: &WriteToken<'_>) -> bool {
        let (count, others) = (self.count(), right.count());
        if count + others > Self::MOST {
            return false;
        }
        (0..others).for_each(|at| self.set(count + at, right.pair(at), token));
        self.words[COUNT].set((count + others) as u64, token);
        self.words[HIGH].set(right.words[HIGH].get(), token);
        self.words[RIGHT].set(right.right(), token);
        right.words[COUNT].set(0, right_token);
        // From now on every key is beyond the dead node, and belongs to this one.
        right.words[HIGH].set(0, right_token);
        right.words[RIGHT].set(link, right_token);
        right.words[STATE].set(right.words[STATE].get() | DEAD, right_token);
        true
    }

    fn fill(&mut self, pairs: &[(u64, u64)], next: Option<(u64, u64)>) {
        assert!(pairs.len() <= Self::MOST, "too many pairs for a node");
        let (high, right) = next.unwrap_or((u64::MAX, 0));
        self.exclusively(|node, token| node.set_all(pairs, high, right, token));
    }

    fn check(&self) -> Vec<Broken> {
        let mut broken = Vec::new();
        let mut expect = |holds: bool, invariant, at| {
            if !holds {
                broken.push(Broken(invariant, at));
            }
        };
        let (low, high, count) = (self.low(), self.words[HIGH].get(), self.words[COUNT].get() as usize);
        if self.is_dead() {
            expect(high == 0, "a dead node has no high key", high);
            return broken;
        }
        expect(self.right() != 0 || high == u64::MAX, "the rightmost node is not bounded", high);
        expect(self.right() == 0 || low < high, "low is below high", low);
        expect(count <= Self::MOST, "the count fits the node", count as u64);
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
