//! Lookups and changes of a hinted node.

use super::{BeyondBound, BlockIndex, DEAD, HIGH, HintedNode, LAST_VALUE, LEVEL_SHIFT, LOW, RIGHT, STATE};
use crate::key_space::Words;
use crate::node::block::{BLOCK_ENTRIES, Block, PADDING};
use crate::node::{
    DescendResult, FindResult, HEADER_BYTES, Layout, ModifyResult, NodeDefect, RemoveResult, ScanNext,
    Siblings, WriteMode, WriteResult, search,
};
use xtasking::{Part, Word, arena::WriteToken, platform::CACHE_LINE};

// SAFETY: the words for links never hold anything but 0 and links, and each is read and written as
// a whole.
unsafe impl<const WORDS: usize> Layout for HintedNode<WORDS> {
    type Keys = Words;
    type Place = BlockIndex<WORDS>;
    type Replaced = core::convert::Infallible;

    const CAPACITY: usize = Self::BLOCKS * BLOCK_ENTRIES;
    // A removal finds out only when a block becomes empty, which is later.
    const SPARSE: usize = Self::CAPACITY / 2;
    const FIRST: Part = Part::lines(0, Self::HINT_LINES as u16);
    const ALL: Part = Part::lines(0, ((WORDS * 8 + HEADER_BYTES) / CACHE_LINE) as u16);
    const NAME: &'static str = "hinted";

    fn new(level: u64, low: u64) -> Self {
        search::choose();
        let mut node = Self { words: [const { Word::new(0) }; WORDS] };
        node.with_exclusive_token(|node, token| {
            node.meta(LOW).set(low, token);
            node.meta(STATE).set(level << LEVEL_SHIFT, token);
            node.lay_out(&[], u64::MAX, token);
        });
        node
    }

    #[inline(always)]
    fn place_of(&self, key: u64) -> BlockIndex<WORDS> {
        BlockIndex(self.block_of(key))
    }

    #[inline(always)]
    fn part_of(BlockIndex(block): BlockIndex<WORDS>) -> Part {
        // The last block is fetched with the meta line before it.
        let last = usize::from(block == Self::BLOCKS - 1);
        Part::lines((Self::block_line(block) - last) as u16, (2 + last) as u16)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn find_at(&self, key: u64, BlockIndex(block): BlockIndex<WORDS>) -> FindResult {
        if key >= self.bound(block) {
            return match self.beyond(key) {
                BeyondBound::Last(Some(value)) => FindResult::Value(value),
                BeyondBound::Last(None) | BeyondBound::Torn => FindResult::Missing,
                BeyondBound::Right(link) => FindResult::Right(link),
            };
        }
        let block = self.block(block);
        let at = block.lower_bound(key);
        if block.key(at) == key { FindResult::Value(block.value(at).get()) } else { FindResult::Missing }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn descend_at(&self, key: u64, BlockIndex(block): BlockIndex<WORDS>) -> DescendResult {
        if key >= self.bound(block) {
            return match self.beyond(key) {
                BeyondBound::Last(Some(child)) => DescendResult::Child(child),
                BeyondBound::Last(None) => DescendResult::Child(self.last_child()),
                BeyondBound::Torn => DescendResult::Child(0),
                BeyondBound::Right(link) => DescendResult::Right(link),
            };
        }
        let block = self.block(block);
        DescendResult::Child(block.value(block.last_not_above(key)).get())
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
    fn visit(&self, from: u64, mut visit: impl FnMut(u64, u64)) -> ScanNext {
        if self.is_dead() {
            return ScanNext::Right { link: self.right(), low: from };
        }
        let first = self.block_of(from);
        self.block(first).visit(self.block(first).rank(from), &mut visit);
        for block in first + 1..Self::BLOCKS {
            self.block(block).visit(0, &mut visit);
        }
        if let Some(value) = self.last_entry() {
            visit(u64::MAX, value);
        }
        match self.right() {
            0 => ScanNext::End,
            link => ScanNext::Right { link, low: self.meta(HIGH).get() },
        }
    }

    fn siblings(&self, key: u64) -> Option<Siblings> {
        let mut pairs = self.gather();
        if let Some(value) = self.last_entry() {
            pairs.push(u64::MAX, value);
        }
        pairs.siblings(key)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write(&self, key: u64, value: u64, mode: WriteMode, token: &WriteToken<'_>) -> WriteResult {
        let number = self.block_of(key);
        if key >= self.bound(number) {
            return match self.beyond(key) {
                BeyondBound::Last(old) => {
                    let (wrote, new) = match (old, mode) {
                        (Some(old), WriteMode::Insert) => (WriteResult::Exists(old), Some(old)),
                        (Some(old), _) => (WriteResult::Replaced(old), Some(value)),
                        (None, WriteMode::Update) => (WriteResult::Missing, None),
                        (None, _) => (WriteResult::Inserted, Some(value)),
                    };
                    self.set_last_entry(new, token);
                    wrote
                }
                BeyondBound::Torn => unreachable!("a torn node under a write token"),
                BeyondBound::Right(link) => WriteResult::Right(link),
            };
        }
        let block = self.block(number);
        let at = block.lower_bound(key);
        if block.key(at) == key {
            let old = block.value(at).get();
            if mode == WriteMode::Insert {
                return WriteResult::Exists(old);
            }
            block.value(at).set(value, token);
            return WriteResult::Replaced(old);
        }
        if mode == WriteMode::Update {
            return WriteResult::Missing;
        }
        if block.is_full() {
            return self.insert_into_full_block(number, key, value, token);
        }
        block.insert(at, key, value, token);
        WriteResult::Inserted
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn modify(&self, key: u64, change: impl FnOnce(u64) -> u64, token: &WriteToken<'_>) -> ModifyResult {
        let block = self.block_of(key);
        let place = if key >= self.bound(block) {
            match self.beyond(key) {
                BeyondBound::Last(Some(_)) => self.meta(LAST_VALUE),
                BeyondBound::Last(None) => return ModifyResult::Missing,
                BeyondBound::Torn => unreachable!("a torn node under a write token"),
                BeyondBound::Right(link) => return ModifyResult::Right(link),
            }
        } else {
            let block = self.block(block);
            let at = block.lower_bound(key);
            if block.key(at) != key {
                return ModifyResult::Missing;
            }
            block.value(at)
        };
        let old = place.get();
        let new = change(old);
        place.set(new, token);
        ModifyResult::Done { old, new }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn remove(&self, key: u64, token: &WriteToken<'_>) -> RemoveResult {
        let block = self.block_of(key);
        if key >= self.bound(block) {
            return match self.beyond(key) {
                BeyondBound::Last(Some(value)) => {
                    self.set_last_entry(None, token);
                    RemoveResult::Done { value, sparse: self.is_empty() }
                }
                BeyondBound::Last(None) => RemoveResult::Missing,
                BeyondBound::Torn => unreachable!("a torn node under a write token"),
                BeyondBound::Right(link) => RemoveResult::Right(link),
            };
        }
        let block = self.block(block);
        let at = block.lower_bound(key);
        if block.key(at) != key {
            return RemoveResult::Missing;
        }
        let value = block.remove(at, token);
        // The other blocks are only counted if this one has become empty.
        RemoveResult::Done { value, sparse: block.key(0) == PADDING && self.is_sparse() }
    }

    fn remove_child(&self, separator: u64, token: &WriteToken<'_>) -> RemoveResult {
        let number = self.block_of(separator);
        let block = self.block(number);
        if separator < self.bound(number) && number > 0 && block.key(0) == separator {
            // The block's separator becomes greater; keys below it now belong to the last child of
            // the previous block.
            let value = block.remove(0, token);
            if block.key(0) == PADDING {
                self.lay_out(self.gather().as_slice(), self.meta(HIGH).get(), token);
            } else {
                self.separator(number).set(block.key(0), token);
            }
            return RemoveResult::Done { value, sparse: false };
        }
        if separator == self.low() && !self.is_dead() {
            RemoveResult::Missing
        } else {
            self.remove(separator, token)
        }
    }

    fn split(&self, right: &mut Self, link: u64, pending: u64, token: &WriteToken<'_>) -> u64 {
        let pairs = self.gather();
        let (stay, separator) = pairs.split_point(self.right() == 0, self.level(), pending);
        let (left_pairs, right_pairs) = pairs.as_slice().split_at(stay);
        right.with_exclusive_token(|right, token| {
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
        // From now on every key is beyond the dead node's bound, and its right link leads to this
        // node.
        right.meta(HIGH).set(0, right_token);
        right.meta(RIGHT).set(link, right_token);
        right.meta(STATE).set(right.meta(STATE).get() | DEAD, right_token);
        true
    }

    fn set_right(&self, link: u64, token: &WriteToken<'_>) {
        self.meta(RIGHT).set(link, token);
    }

    fn fill(&mut self, pairs: &[(u64, u64)], next: Option<(u64, u64)>) {
        let (pairs, last) = match pairs {
            [pairs @ .., (u64::MAX, value)] => (pairs, Some(*value)),
            _ => (pairs, None),
        };
        assert!(pairs.len() <= Self::CAPACITY, "too many pairs for a node");
        self.with_exclusive_token(|node, token| {
            let (high, right) = next.unwrap_or((u64::MAX, 0));
            node.meta(RIGHT).set(right, token);
            node.set_last_entry(last, token);
            node.lay_out(pairs, high, token);
        });
    }

    #[inline(always)]
    fn take_replaced(&self, _: &WriteToken<'_>) -> Option<Self::Replaced> {
        None
    }

    fn check(&self) -> Vec<NodeDefect> {
        self.defects()
    }
}
