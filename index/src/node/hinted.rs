//! Nodes that tell from their first line where a key is.
//!
//! The entries lie in `B` blocks of eight, each a line of keys and a line of values. The lowest keys of
//! blocks 1 to `B - 1`, the *separators*, fill the rest of the header's line (and a few more lines in larger
//! nodes): the number of separators not above a key is the number of the key's block. One *meta* line holds
//! what concerns the node as a whole. In a node of 1 KiB:
//!
//! ```text
//! line 0    header, separators of blocks 1 to 6
//! line 1    meta: right link, high, low, state, value of u64::MAX
//! line 2-3  block 6: keys, values
//!   ...
//! line 14   block 0: keys, values
//! ```
//!
//! A lookup must not pay a miss for the meta line. Only keys of the last block can lie beyond the node,
//! because separators that are not in use equal `high`; so only they consult the meta line, and it precedes
//! their block so that the three lines are one run (that is why the blocks are stored backwards). For all
//! other blocks the next separator does as the bound. A dead node's separators and its `high` are 0: every
//! key ends up in the last block, beyond the bound, and is found out there at no cost to the living.
//!
//! Within a block keys ascend, then comes padding of `u64::MAX`; that key's own entry is kept in the meta
//! line. No count is kept, as keeping it would cost every insert a line.

use super::block::{Block, ENTRIES, PADDING};
use super::pairs::Pairs;
use super::{Broken, Down, Found, HEADER, Layout, Modified, Onward, Removed, Siblings, Write, Wrote};
use core::hint::select_unpredictable;
use xtasking::{LINE, Part, Version, Word, WriteToken};

/// Words of a line.
const LINE_WORDS: usize = LINE / 8;

/// Words of the meta line.
const RIGHT: usize = 0;
const HIGH: usize = 1;
const LOW: usize = 2;
const STATE: usize = 3;
const LAST_VALUE: usize = 4;

/// Bits of the state word: merged away; holds an entry for `u64::MAX`; the level.
const DEAD: u64 = 1;
const HAS_LAST: u64 = 2;
const LEVEL_SHIFT: u32 = 8;

/// A node of `WORDS` words whose first line tells where its keys are.
///
/// `WORDS` is a power of two, less the header's two words: 62, 126 (the usual 1 KiB), 254 or 510.
#[repr(C)]
pub struct Hinted<const WORDS: usize> {
    words: [Word; WORDS],
}

/// The separators of larger nodes are searched by groups of seven blocks.
const GROUP: usize = 7;

/// How many lines of separators there are, the header's included, and how many blocks.
const fn shape(words: usize) -> (usize, usize) {
    let lines = (words * 8 + HEADER) / LINE;
    let mut hints = 1;
    loop {
        let room = (lines - meta_line(hints) - 1) / 2;
        let blocks = if room > GROUP { room - room % GROUP } else { room };
        if line_word(hints) >= blocks - 1 {
            return (hints, blocks);
        }
        hints += 1;
    }
}

/// The meta line is an odd one, so that every block starts on an even line: pairs of lines are fetched
/// together.
const fn meta_line(hints: usize) -> usize {
    hints | 1
}

/// The first word of a line.
const fn line_word(line: usize) -> usize {
    line * LINE_WORDS - HEADER / 8
}

impl<const WORDS: usize> Hinted<WORDS> {
    const HINT_LINES: usize = {
        assert!(WORDS >= 62 && WORDS <= 510 && (WORDS + 2).is_power_of_two());
        shape(WORDS).0
    };
    const BLOCKS: usize = shape(WORDS).1;
    const GROUPS: usize = Self::BLOCKS.div_ceil(GROUP);
    const META_LINE: usize = meta_line(Self::HINT_LINES);
    const META: usize = line_word(Self::META_LINE);

    /// From how many entries on a node that is full in the wrong place is split, not rearranged. The fewer
    /// they are the more rarely nodes are rearranged (at 15/16, one insert of 25 does it), but the emptier
    /// they stay.
    const CROWDED: usize = Self::BLOCKS * ENTRIES * 15 / 16;

    #[inline(always)]
    fn meta(&self, word: usize) -> &Word {
        &self.words[Self::META + word]
    }

    /// The block of `key`: how many separators are not above it. No branch depends on the key.
    #[inline(always)]
    fn block_of(&self, key: u64) -> usize {
        let not_above = |separator: &Word| separator.get() <= key;
        let first = (1..Self::GROUPS)
            .map(|group| select_unpredictable(not_above(&self.words[group * GROUP - 1]), GROUP, 0))
            .sum::<usize>();
        let rest = if Self::BLOCKS < GROUP { Self::BLOCKS } else { GROUP } - 1;
        let count =
            |separators: &[Word]| separators.iter().map(|word| usize::from(not_above(word))).sum::<usize>();
        first + count(&self.words[first..first + rest])
    }

    /// A word that is above all keys of `block` that this node covers. It is the next separator, already at
    /// hand, for all blocks but the last. Selecting the word's place leaves one branch, which is hardly ever
    /// taken.
    #[inline(always)]
    fn bound(&self, block: usize) -> u64 {
        let place = select_unpredictable(block == Self::BLOCKS - 1, Self::META + HIGH, block);
        self.words[place].get()
    }

    #[inline(always)]
    fn separator(&self, block: usize) -> &Word {
        &self.words[block - 1]
    }

    /// The line at which a block starts.
    #[inline(always)]
    const fn block_line(block: usize) -> usize {
        Self::META_LINE + 1 + 2 * (Self::BLOCKS - 1 - block)
    }

    #[inline(always)]
    fn block(&self, block: usize) -> Block<'_> {
        debug_assert!(block < Self::BLOCKS);
        let start = line_word(Self::block_line(block));
        // SAFETY: the last two lines of the node are those of block 0, and higher blocks lie before them but
        // behind the meta line. Blocks are counted up to `BLOCKS` or come from `block_of`, which cannot
        // exceed the last: `GROUPS` are whole ones, or there is just one.
        Block::new(unsafe { &*self.words.as_ptr().add(start).cast() })
    }

    fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        (0..Self::BLOCKS).map(|block| self.block(block))
    }

    /// The entry of `u64::MAX`, if this node holds one.
    #[inline]
    fn last_entry(&self) -> Option<u64> {
        (self.meta(STATE).get() & HAS_LAST != 0).then(|| self.meta(LAST_VALUE).get())
    }

    fn set_last_entry(&self, value: Option<u64>, token: &WriteToken<'_>) {
        let state = self.meta(STATE).get();
        self.meta(STATE).set(if value.is_some() { state | HAS_LAST } else { state & !HAS_LAST }, token);
        self.meta(LAST_VALUE).set(value.unwrap_or(0), token);
    }

    /// Why `key` is beyond the bound of its block.
    #[cold]
    #[inline(never)]
    fn beyond(&self, key: u64) -> Beyond {
        let right = self.meta(RIGHT).get();
        if right != 0 && key >= self.meta(HIGH).get() {
            Beyond::Right(right)
        } else if key == u64::MAX {
            Beyond::Last(self.last_entry())
        } else {
            Beyond::Torn
        }
    }

    /// The entries of the blocks.
    fn gather(&self) -> Pairs<WORDS> {
        let mut pairs = Pairs::new();
        for block in self.blocks() {
            block.visit(0, |key, value| pairs.push(key, value));
        }
        pairs
    }

    /// The last child of the blocks. Its own function, as the buffer is not to weigh on the callers' stack.
    #[cold]
    #[inline(never)]
    fn last_child(&self) -> u64 {
        self.gather().as_slice().last().map_or(0, |pair| pair.1)
    }

    /// Spreads entries evenly over the blocks. If there are fewer than blocks, those at the end stay empty:
    /// in an inner node no empty block may precede one that is not.
    fn lay_out(&self, pairs: &[(u64, u64)], high: u64, token: &WriteToken<'_>) {
        let (each, more) = (pairs.len() / Self::BLOCKS, pairs.len() % Self::BLOCKS);
        let mut rest = pairs;
        for block in 0..Self::BLOCKS {
            let (pairs, others) = rest.split_at(each + usize::from(block < more));
            rest = others;
            self.block(block).set_all(pairs, token);
            if block > 0 {
                self.separator(block).set(pairs.first().map_or(high, |pair| pair.0), token);
            }
        }
        self.meta(HIGH).set(high, token);
    }

    /// Adds a key to a block that is full.
    #[cold]
    #[inline(never)]
    fn make_room(&self, block: usize, key: u64, value: u64, token: &WriteToken<'_>) -> Wrote {
        let count = |block: usize| if block < Self::BLOCKS { self.block(block).len() } else { ENTRIES };
        let (left, right) = (count(block.wrapping_sub(1)), count(block + 1));
        if right == 0 && key > self.block(block).key(ENTRIES - 1) {
            // Ascending keys: what is behind them stays full.
            self.block(block + 1).set_all(&[(key, value)], token);
            self.separator(block + 1).set(key, token);
            return Wrote::Inserted;
        }
        if left.min(right) < ENTRIES - 1 {
            self.balance(if left < right { block - 1 } else { block }, key, value, token);
            return Wrote::Inserted;
        }
        let mut pairs = self.gather();
        if pairs.as_slice().len() >= Self::CROWDED {
            return Wrote::Full;
        }
        pairs.insert(key, value);
        self.lay_out(pairs.as_slice(), self.meta(HIGH).get(), token);
        Wrote::Inserted
    }

    /// Adds a key to `block` or the one after it and halves their entries between them.
    fn balance(&self, block: usize, key: u64, value: u64, token: &WriteToken<'_>) {
        let mut pairs = Pairs::<{ 2 * ENTRIES + 1 }>::new();
        for block in [block, block + 1] {
            self.block(block).visit(0, |key, value| pairs.push(key, value));
        }
        pairs.insert(key, value);
        let (left, right) = pairs.as_slice().split_at(pairs.as_slice().len() / 2);
        self.block(block).set_all(left, token);
        self.block(block + 1).set_all(right, token);
        self.separator(block + 1).set(right[0].0, token);
    }

    /// Changes a node that nobody else can see.
    fn exclusively(&mut self, change: impl FnOnce(&Self, &WriteToken<'_>)) {
        // SAFETY: the exclusive borrow keeps everybody else away while the token lives.
        change(self, &unsafe { WriteToken::assume() });
    }
}

/// Why a key is not in the block that the separators tell.
enum Beyond {
    /// It belongs to another node, at this link.
    Right(u64),
    /// It is `u64::MAX`, with this value.
    Last(Option<u64>),
    /// A writer is at work.
    Torn,
}

// SAFETY: all of a node is words, which are atomic.
unsafe impl<const WORDS: usize> Version for Hinted<WORDS> {}

// SAFETY: the words of links hold nothing else, from the first writing on, and each is read and written whole.
unsafe impl<const WORDS: usize> Layout for Hinted<WORDS> {
    const CAPACITY: usize = Self::BLOCKS * ENTRIES;
    const FIRST: Part = Part::lines(0, Self::HINT_LINES as u16);
    const ALL: Part = Part::lines(0, ((WORDS * 8 + HEADER) / LINE) as u16);
    const NAME: &'static str = "hinted";

    fn new(level: u64, low: u64) -> Self {
        let mut node = Self { words: [const { Word::new(0) }; WORDS] };
        node.exclusively(|node, token| {
            node.meta(LOW).set(low, token);
            node.meta(STATE).set(level << LEVEL_SHIFT, token);
            node.lay_out(&[], u64::MAX, token);
        });
        node
    }

    #[inline(always)]
    fn locate(&self, key: u64) -> Part {
        let block = self.block_of(key);
        // The last block comes with the meta line before it.
        let last = usize::from(block == Self::BLOCKS - 1);
        Part::lines((Self::block_line(block) - last) as u16, (2 + last) as u16)
    }

    #[inline(always)]
    fn find(&self, key: u64) -> Found {
        let block = self.block_of(key);
        if key >= self.bound(block) {
            return match self.beyond(key) {
                Beyond::Last(Some(value)) => Found::Value(value),
                Beyond::Last(None) | Beyond::Torn => Found::Missing,
                Beyond::Right(link) => Found::Right(link),
            };
        }
        let block = self.block(block);
        let at = block.place(key);
        if block.key(at) == key { Found::Value(block.value(at).get()) } else { Found::Missing }
    }

    #[inline(always)]
    fn descend(&self, key: u64) -> Down {
        let block = self.block_of(key);
        if key >= self.bound(block) {
            return match self.beyond(key) {
                Beyond::Last(Some(child)) => Down::Child(child),
                Beyond::Last(None) => Down::Child(self.last_child()),
                Beyond::Torn => Down::Child(0),
                Beyond::Right(link) => Down::Right(link),
            };
        }
        let block = self.block(block);
        Down::Child(block.value(block.cover(key)).get())
    }

    #[inline]
    fn level(&self) -> u64 {
        self.meta(STATE).get() >> LEVEL_SHIFT
    }

    #[inline]
    fn low(&self) -> u64 {
        self.meta(LOW).get()
    }

    #[inline]
    fn high(&self) -> Option<u64> {
        (self.right() != 0).then(|| self.meta(HIGH).get())
    }

    #[inline]
    fn right(&self) -> u64 {
        self.meta(RIGHT).get()
    }

    #[inline]
    fn is_dead(&self) -> bool {
        self.meta(STATE).get() & DEAD != 0
    }

    fn len(&self) -> usize {
        self.blocks().map(Block::len).sum::<usize>() + usize::from(self.last_entry().is_some())
    }

    fn is_empty(&self) -> bool {
        self.blocks().all(|block| block.key(0) == PADDING) && self.last_entry().is_none()
    }

    #[inline]
    fn visit(&self, from: u64, mut visit: impl FnMut(u64, u64)) -> Onward {
        if self.is_dead() {
            return Onward::Right { link: self.right(), low: from };
        }
        let first = self.block_of(from);
        self.block(first).visit(self.block(first).below(from), &mut visit);
        for block in first + 1..Self::BLOCKS {
            self.block(block).visit(0, &mut visit);
        }
        if let Some(value) = self.last_entry() {
            visit(u64::MAX, value);
        }
        match self.right() {
            0 => Onward::End,
            link => Onward::Right { link, low: self.meta(HIGH).get() },
        }
    }

    fn siblings(&self, key: u64) -> Option<Siblings> {
        let mut pairs = self.gather();
        if let Some(value) = self.last_entry() {
            pairs.push(u64::MAX, value);
        }
        pairs.siblings(key)
    }

    #[inline(always)]
    fn write(&self, key: u64, value: u64, how: Write, token: &WriteToken<'_>) -> Wrote {
        let number = self.block_of(key);
        if key >= self.bound(number) {
            return match self.beyond(key) {
                Beyond::Last(old) => {
                    let (wrote, new) = match (old, how) {
                        (Some(old), Write::Insert) => (Wrote::Exists(old), Some(old)),
                        (Some(old), _) => (Wrote::Replaced(old), Some(value)),
                        (None, Write::Update) => (Wrote::Missing, None),
                        (None, _) => (Wrote::Inserted, Some(value)),
                    };
                    self.set_last_entry(new, token);
                    wrote
                }
                Beyond::Torn => unreachable!("a torn node under a write token"),
                Beyond::Right(link) => Wrote::Right(link),
            };
        }
        let block = self.block(number);
        let at = block.place(key);
        if block.key(at) == key {
            let old = block.value(at).get();
            if how == Write::Insert {
                return Wrote::Exists(old);
            }
            block.value(at).set(value, token);
            return Wrote::Replaced(old);
        }
        if how == Write::Update {
            return Wrote::Missing;
        }
        if block.is_full() {
            return self.make_room(number, key, value, token);
        }
        block.insert(at, key, value, token);
        Wrote::Inserted
    }

    #[inline(always)]
    fn modify(&self, key: u64, change: impl FnOnce(u64) -> u64, token: &WriteToken<'_>) -> Modified {
        let block = self.block_of(key);
        let place = if key >= self.bound(block) {
            match self.beyond(key) {
                Beyond::Last(Some(_)) => self.meta(LAST_VALUE),
                Beyond::Last(None) => return Modified::Missing,
                Beyond::Torn => unreachable!("a torn node under a write token"),
                Beyond::Right(link) => return Modified::Right(link),
            }
        } else {
            let block = self.block(block);
            let at = block.place(key);
            if block.key(at) != key {
                return Modified::Missing;
            }
            block.value(at)
        };
        let old = place.get();
        let new = change(old);
        place.set(new, token);
        Modified::Done { old, new }
    }

    #[inline(always)]
    fn remove(&self, key: u64, token: &WriteToken<'_>) -> Removed {
        let block = self.block_of(key);
        if key >= self.bound(block) {
            return match self.beyond(key) {
                Beyond::Last(Some(value)) => {
                    self.set_last_entry(None, token);
                    Removed::Done { value, empty: self.is_empty() }
                }
                Beyond::Last(None) => Removed::Missing,
                Beyond::Torn => unreachable!("a torn node under a write token"),
                Beyond::Right(link) => Removed::Right(link),
            };
        }
        let block = self.block(block);
        let at = block.place(key);
        if block.key(at) != key {
            return Removed::Missing;
        }
        let value = block.remove(at, token);
        // The other blocks are looked at only when this one has become empty.
        Removed::Done { value, empty: block.key(0) == PADDING && self.is_empty() }
    }

    fn remove_child(&self, separator: u64, token: &WriteToken<'_>) -> Removed {
        let number = self.block_of(separator);
        let block = self.block(number);
        if separator < self.bound(number) && number > 0 && block.key(0) == separator {
            // The block's separator moves up; keys before it fall to the previous block's last child.
            let value = block.remove(0, token);
            if block.key(0) == PADDING {
                self.lay_out(self.gather().as_slice(), self.meta(HIGH).get(), token);
            } else {
                self.separator(number).set(block.key(0), token);
            }
            return Removed::Done { value, empty: false };
        }
        if separator == self.low() && !self.is_dead() {
            Removed::Missing
        } else {
            self.remove(separator, token)
        }
    }

    fn split(&self, right: &mut Self, link: u64, pending: u64, token: &WriteToken<'_>) -> u64 {
        let pairs = self.gather();
        let (stay, separator) = pairs.divide(self.right() == 0, self.level(), pending);
        let (left_pairs, right_pairs) = pairs.as_slice().split_at(stay);
        right.exclusively(|right, token| {
            right.meta(LOW).set(separator, token);
            right.meta(RIGHT).set(self.right(), token);
            right.set_last_entry(self.last_entry(), token);
            right.lay_out(right_pairs, self.meta(HIGH).get(), token);
        });
        self.set_last_entry(None, token);
        self.meta(RIGHT).set(link, token);
        self.lay_out(left_pairs, separator, token);
        separator
    }

    fn absorb(&self, link: u64, right: &Self, token: &WriteToken<'_>, right_token: &WriteToken<'_>) -> bool {
        let mut pairs = self.gather();
        let others = right.gather();
        if pairs.as_slice().len() + others.as_slice().len() > Self::CAPACITY {
            return false;
        }
        others.as_slice().iter().for_each(|&(key, value)| pairs.push(key, value));
        self.set_last_entry(right.last_entry(), token);
        self.meta(RIGHT).set(right.right(), token);
        self.lay_out(pairs.as_slice(), right.meta(HIGH).get(), token);
        for block in 1..Self::BLOCKS {
            right.separator(block).set(0, right_token);
        }
        // From now on every key is beyond the dead node, and belongs to this one.
        right.meta(HIGH).set(0, right_token);
        right.meta(RIGHT).set(link, right_token);
        right.meta(STATE).set(right.meta(STATE).get() | DEAD, right_token);
        true
    }

    fn fill(&mut self, pairs: &[(u64, u64)], next: Option<(u64, u64)>) {
        let (pairs, last) = match pairs {
            [pairs @ .., (u64::MAX, value)] => (pairs, Some(*value)),
            _ => (pairs, None),
        };
        assert!(pairs.len() <= Self::CAPACITY, "too many pairs for a node");
        self.exclusively(|node, token| {
            let (high, right) = next.unwrap_or((u64::MAX, 0));
            node.meta(RIGHT).set(right, token);
            node.set_last_entry(last, token);
            node.lay_out(pairs, high, token);
        });
    }

    fn check(&self) -> Vec<Broken> {
        let mut broken = Vec::new();
        let mut expect = |holds: bool, invariant, at| {
            if !holds {
                broken.push(Broken(invariant, at));
            }
        };
        let (low, high, is_inner) = (self.low(), self.meta(HIGH).get(), self.level() > 0);
        if self.is_dead() {
            expect(
                (1..Self::BLOCKS).all(|block| self.separator(block).get() == 0),
                "dead separators are 0",
                low,
            );
            expect(high == 0, "a dead node has no high key", high);
            return broken;
        }
        expect(self.right() != 0 || high == u64::MAX, "the rightmost node is not bounded", high);
        expect(self.right() == 0 || low < high, "low is below high", low);
        expect(
            self.last_entry().is_none() || self.right() == 0,
            "only the rightmost node covers u64::MAX",
            low,
        );
        if is_inner {
            let first = self.gather().as_slice().first().map(|pair| pair.0);
            let first = first.or(self.last_entry().map(|_| u64::MAX));
            expect(first == Some(low), "an inner node's first key is its low key", low);
        }
        let mut ended = false;
        for (number, block) in self.blocks().enumerate() {
            let from = if number == 0 { low } else { self.separator(number).get() };
            let to = if number + 1 == Self::BLOCKS { high } else { self.separator(number + 1).get() };
            expect(low <= from && from <= to && to <= high, "separators ascend from low to high", from);
            let len = block.len();
            expect((len..ENTRIES).all(|at| block.key(at) == PADDING), "padding follows the keys", from);
            expect((1..len).all(|at| block.key(at - 1) < block.key(at)), "keys ascend", from);
            expect((0..len).all(|at| (from..to).contains(&block.key(at))), "keys match the separators", from);
            if is_inner {
                expect(!ended || len == 0, "empty blocks of an inner node are at its end", from);
                expect(len == 0 || block.key(0) == from, "an inner block's first key is its separator", from);
                expect(len > 0 || number == 0 || from == high, "unused separators are the high key", from);
                ended |= len == 0;
            }
        }
        broken
    }
}
