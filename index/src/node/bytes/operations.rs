//! Lookups and changes of a node for byte strings.

use super::block::{BLOCK_ENTRIES, MAX_REST, Rest, tail_words};
use super::contents::{BLOCK_ROOM, Contents, SPLIT_ROOM, has_bulk_room, prefix_of, room_of};
use super::probe::{Probe, common_prefix};
use super::side::{ReplacedSides, Side};
use super::{
    BLOCKS, BytesNode, BytesPlace, DEAD, FIRST_BLOCK, HIGH_HEAD, HINT_LINES, LEVEL_SHIFT, PREFIX_SHIFT,
    REPLACED, RIGHT, SIDE, STATE, WORDS,
};
use crate::key_space::Bytes;
use crate::node::search::LINE_WORDS;
use crate::node::{
    DescendResult, FindResult, HEADER_BYTES, Layout, ModifyResult, NodeDefect, RemoveResult, ScanNext,
    Siblings, WriteMode, WriteResult, search,
};
use crate::record::Record;
use xtasking::{Part, Word, arena::WriteToken, platform::CACHE_LINE};

/// Lines of a block.
const BLOCK_LINES: usize = (WORDS - FIRST_BLOCK) / BLOCKS / LINE_WORDS;

// SAFETY: the word for the right link never holds anything but 0 and links. Values of entries move
// only to other places for values. Each is read and written as a whole.
unsafe impl Layout for BytesNode {
    type Keys = Bytes;
    type Place = BytesPlace;
    type Replaced = ReplacedSides;

    // Three of the longest keys that a block holds fit into it.
    const CAPACITY: usize = 3 * BLOCKS;
    // In terms of entries with short keys, which most nodes have.
    const SPARSE: usize = BLOCKS * BLOCK_ENTRIES / 3;
    const MERGED: usize = BLOCKS * BLOCK_ENTRIES * 5 / 6;
    const BULK_ENTRIES: usize = BLOCKS * BLOCK_ENTRIES * 9 / 10;
    const FIRST: Part = Part::lines(0, HINT_LINES as u16);
    const ALL: Part = Part::lines(0, ((WORDS * 8 + HEADER_BYTES) / CACHE_LINE) as u16);
    const NAME: &'static str = "bytes";

    fn new(level: u64, low: &[u8]) -> Self {
        search::choose();
        let mut node = Self { words: [const { Word::new(0) }; WORDS] };
        node.words[SIDE] = Word::new(Record::new(Side { low: low.into(), ..Side::default() }).into_word());
        node.with_exclusive_token(|node, token| {
            node.words[STATE].set(level << LEVEL_SHIFT, token);
            node.lay_out(low, None, &[], 0, token);
        });
        node
    }

    #[inline(always)]
    fn place_of(&self, key: &[u8]) -> BytesPlace {
        self.find_place(key)
    }

    #[inline(always)]
    fn part_of(place: BytesPlace) -> Part {
        if place.is_beyond {
            return Part::NONE;
        }
        Part::lines((HINT_LINES + BLOCK_LINES * usize::from(place.block)) as u16, BLOCK_LINES as u16)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn find_at(&self, key: &[u8], place: BytesPlace) -> FindResult {
        let probe = Probe::new(key, place.prefix as usize);
        if let Some(link) = self.right_link_for(&probe, place) {
            return FindResult::Right(link);
        }
        if place.is_beyond {
            return FindResult::Missing;
        }
        match self.search(&probe, place.block.into()) {
            (block, at, true) => FindResult::Value(self.block(block).value(at).get()),
            _ => FindResult::Missing,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn descend_at(&self, key: &[u8], place: BytesPlace) -> DescendResult {
        let probe = Probe::new(key, place.prefix as usize);
        if let Some(link) = self.right_link_for(&probe, place) {
            return DescendResult::Right(link);
        }
        if place.is_beyond {
            return DescendResult::Child(self.last_child_before(BLOCKS));
        }
        let (block, at, is_equal) = self.search(&probe, place.block.into());
        DescendResult::Child(match at.checked_sub(usize::from(!is_equal)) {
            Some(at) => self.block(block).value(at).get(),
            None => self.last_child_before(block),
        })
    }

    fn level(&self) -> u64 {
        self.state() >> LEVEL_SHIFT & 0xff
    }

    fn low(&self) -> Box<[u8]> {
        (*self.side().low).into()
    }

    fn high(&self) -> Option<Box<[u8]>> {
        if self.is_dead() {
            return Some(Box::default());
        }
        self.side().high.as_deref().map(Into::into)
    }

    fn right(&self) -> u64 {
        self.words[RIGHT].get()
    }

    fn is_dead(&self) -> bool {
        self.state() & DEAD != 0
    }

    fn len(&self) -> usize {
        self.blocks().map(|block| block.len()).sum()
    }

    fn is_empty(&self) -> bool {
        self.blocks().all(|block| !block.has_entry(0))
    }

    fn visit(&self, from: &[u8], visit: impl FnMut(&[u8], u64)) -> ScanNext<Box<[u8]>> {
        let right = self.right();
        if self.is_dead() {
            return ScanNext::Right { link: right, low: from.into() };
        }
        let place = self.find_place(from);
        // A key beyond the prefix is beyond all entries.
        if !place.is_beyond {
            let probe = Probe::new(from, place.prefix as usize);
            let (block, at, _) = self.search(&probe, place.block.into());
            self.visit_blocks(block, at, visit);
        }
        match (right, self.side().high.as_deref()) {
            (0, _) | (_, None) => ScanNext::End,
            (link, Some(high)) => ScanNext::Right { link, low: high.into() },
        }
    }

    fn siblings(&self, key: &[u8]) -> Option<Siblings<Box<[u8]>>> {
        let contents = self.gather();
        let pairs = contents.pairs();
        let second = pairs.partition_point(|pair| pair.0 <= key).clamp(1, pairs.len().max(2) - 1);
        match pairs.get(second - 1..=second)? {
            &[(_, left), (separator, right)] => Some(Siblings { left, right, separator: separator.into() }),
            _ => None,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write(&self, key: &[u8], value: u64, mode: WriteMode, token: &WriteToken<'_>) -> WriteResult {
        let place = self.find_place(key);
        let probe = Probe::new(key, place.prefix as usize);
        if let Some(link) = self.right_link_for(&probe, place) {
            return WriteResult::Right(link);
        }
        if place.is_beyond {
            return match mode {
                WriteMode::Update => WriteResult::Missing,
                WriteMode::Insert | WriteMode::Upsert => self.insert_and_lay_out(key, value, token),
            };
        }
        let (block, at, is_equal) = self.search(&probe, place.block.into());
        if is_equal {
            let place = self.block(block).value(at);
            let old = place.get();
            if mode == WriteMode::Insert {
                return WriteResult::Exists(old);
            }
            place.set(value, token);
            return WriteResult::Replaced(old);
        }
        if mode == WriteMode::Update {
            return WriteResult::Missing;
        }
        if !self.block(block).has_room(tail_words(probe.rest().len())) {
            return self.insert_and_lay_out(key, value, token);
        }
        let rest = self.place_rest(&probe, token);
        self.block(block).insert(at, rest, value, token);
        WriteResult::Inserted
    }

    fn modify(&self, key: &[u8], change: impl FnOnce(u64) -> u64, token: &WriteToken<'_>) -> ModifyResult {
        let place = self.find_place(key);
        let probe = Probe::new(key, place.prefix as usize);
        if let Some(link) = self.right_link_for(&probe, place) {
            return ModifyResult::Right(link);
        }
        let (block, at, is_equal) = self.search(&probe, place.block.into());
        if place.is_beyond || !is_equal {
            return ModifyResult::Missing;
        }
        let place = self.block(block).value(at);
        let old = place.get();
        let new = change(old);
        place.set(new, token);
        ModifyResult::Done { old, new }
    }

    fn remove(&self, key: &[u8], token: &WriteToken<'_>) -> RemoveResult {
        let place = self.find_place(key);
        let probe = Probe::new(key, place.prefix as usize);
        if let Some(link) = self.right_link_for(&probe, place) {
            return RemoveResult::Right(link);
        }
        let (number, at, is_equal) = self.search(&probe, place.block.into());
        if place.is_beyond || !is_equal {
            return RemoveResult::Missing;
        }
        let block = self.block(number);
        if let Some(index) = block.long_index(at) {
            let mut side = self.side().clone();
            side.remove(index);
            self.set_side(side, token);
        }
        let value = block.remove(at, token);
        // The other blocks are only counted if this one has become empty.
        RemoveResult::Done { value, sparse: !block.has_entry(0) && self.len() <= Self::SPARSE }
    }

    fn remove_child(&self, separator: &[u8], token: &WriteToken<'_>) -> RemoveResult {
        // Where a block has lost its first child, keys of that child lead to the block before.
        if !self.is_dead() && *separator == *self.side().low {
            return RemoveResult::Missing;
        }
        self.remove(separator, token)
    }

    fn split(&self, right: &mut Self, link: u64, pending: &[u8], token: &WriteToken<'_>) -> Box<[u8]> {
        let (contents, side) = (self.gather(), self.side().clone());
        let (stay, separator) = self.split_point(&contents, &side, pending);
        let (pairs, prefix) = (contents.pairs(), self.prefix_len());
        let (left_pairs, right_pairs) = pairs.split_at(stay);
        let mut fits = true;
        right.with_exclusive_token(|right, token| {
            right.words[RIGHT].set(self.right(), token);
            fits &= right.lay_out(&separator, side.high.as_deref(), right_pairs, prefix, token);
        });
        self.words[RIGHT].set(link, token);
        fits &= self.lay_out(&side.low, Some(&separator), left_pairs, prefix, token);
        assert!(fits, "parts of a node fit with the node's prefix");
        separator
    }

    fn absorb(&self, link: u64, right: &Self, token: &WriteToken<'_>, right_token: &WriteToken<'_>) -> bool {
        let (contents, others) = (self.gather(), right.gather());
        let pairs = [contents.pairs(), others.pairs()].concat();
        let (low, side) = (self.side().low.clone(), right.side());
        let prefix = self.prefix_len().min(right.prefix_len());
        if !self.lay_out(&low, side.high.as_deref(), &pairs, prefix, token) {
            return false;
        }
        self.words[RIGHT].set(right.right(), token);
        right.blocks().for_each(|block| block.set_all(core::iter::empty(), right_token));
        // From now on every key is beyond the dead node, and its right link leads to this node.
        right.words[RIGHT].set(link, right_token);
        right.words[STATE].set(right.state() | DEAD, right_token);
        true
    }

    fn set_right(&self, link: u64, token: &WriteToken<'_>) {
        self.words[RIGHT].set(link, token);
    }

    fn fill(&mut self, pairs: &[(Box<[u8]>, u64)], next: Option<(&[u8], u64)>) {
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| (&**key, *value)).collect();
        self.with_exclusive_token(|node, token| {
            let (low, (high, right)) = (node.low(), next.unzip());
            node.words[RIGHT].set(right.unwrap_or(0), token);
            assert!(node.lay_out(&low, high, &pairs, 0, token), "too many pairs for a node");
        });
    }

    fn bulk_len(low: &[u8], pairs: &[(Box<[u8]>, u64)]) -> usize {
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| (&**key, *value)).collect();
        let mut count = pairs.len();
        while count > Self::CAPACITY && !has_bulk_room(low, &pairs[..count]) {
            count -= 1;
        }
        count
    }

    fn check(&self) -> Vec<NodeDefect<Box<[u8]>>> {
        self.defects()
    }

    fn take_replaced(&self, token: &WriteToken<'_>) -> Option<Self::Replaced> {
        let word = self.words[REPLACED].get();
        if word == 0 {
            return None;
        }
        self.words[REPLACED].set(0, token);
        // SAFETY: the word came from `into_word`; the holder of the token is its only user, and
        // has just overwritten it.
        Some(ReplacedSides { _owned: unsafe { Record::from_word(word) } })
    }
}

impl BytesNode {
    /// Returns the last child of the blocks before `block`; 0 if there is none, which only a reader
    /// of a torn node finds.
    #[cold]
    #[inline(never)]
    fn last_child_before(&self, block: usize) -> u64 {
        let blocks = (0..block).rev().map(|block| self.block(block));
        let last = blocks.filter_map(|block| Some(block.value(block.len().checked_sub(1)?).get())).next();
        last.unwrap_or(0)
    }

    /// Returns what a block holds of a key that is inserted. A long key is added to the side
    /// record.
    fn place_rest<'k>(&self, probe: &Probe<'k>, token: &WriteToken<'_>) -> Rest<'k> {
        if probe.rest().len() <= MAX_REST {
            return Rest::Whole(probe.rest());
        }
        let mut side = self.side().clone();
        let index = side.add(probe.key.into());
        self.set_side(side, token);
        Rest::Long { head: probe.head, index }
    }

    /// Inserts a key for which the blocks have no room, or which does not have the prefix.
    #[cold]
    #[inline(never)]
    fn insert_and_lay_out(&self, key: &[u8], value: u64, token: &WriteToken<'_>) -> WriteResult {
        let (contents, side) = (self.gather(), self.side().clone());
        let mut pairs = contents.pairs();
        let at = pairs.partition_point(|pair| pair.0 < key);
        pairs.insert(at, (key, value));
        let prefix = prefix_of(&side.low, &pairs);
        let taken: usize = pairs.iter().map(|pair| room_of(pair.0, prefix)).sum();
        let (high, shorter) = (side.high.as_deref(), self.prefix_len());
        if taken > SPLIT_ROOM || !self.lay_out(&side.low, high, &pairs, shorter, token) {
            return WriteResult::Full;
        }
        WriteResult::Inserted
    }

    /// Chooses where to split the node; see [`Layout::split`]. Returns how many entries stay, and
    /// the lowest key of the right node.
    fn split_point(&self, contents: &Contents, side: &Side, pending: &[u8]) -> (usize, Box<[u8]>) {
        let count = contents.len();
        let is_leaf = self.level() == 0;
        let prefix = self.prefix_len();
        // A key without the prefix has to leave, as the others may not fit without it.
        let is_last = contents.key(count - 1) < pending;
        let leaves = is_last && (side.high.is_none() || !pending.starts_with(&side.low[..prefix]));
        let stay = match leaves {
            true if is_leaf => count,
            // An inner node needs a first child.
            true => count - 1,
            false => half(contents, prefix),
        };
        let first = if stay < count { contents.key(stay) } else { pending };
        // Between two keys of leaves, as much of the second one as distinguishes them suffices.
        let len = if is_leaf { common_prefix(contents.key(stay - 1), first) + 1 } else { first.len() };
        (stay, first[..len].into())
    }
}

/// Returns how many of the entries take half of the room that all take: at least one, and not all.
fn half(contents: &Contents, prefix: usize) -> usize {
    let rooms = (0..contents.len()).map(|at| room_of(contents.key(at), prefix));
    let total: usize = rooms.clone().sum();
    let mut taken = 0;
    let before = rooms.take_while(|room| {
        taken += room;
        taken <= total / 2
    });
    before.count().clamp(1, contents.len() - 1)
}

const _: () = assert!(SPLIT_ROOM < BLOCKS * BLOCK_ROOM && BLOCK_LINES == 5 && PREFIX_SHIFT > LEVEL_SHIFT + 7);
const _: () = assert!(HIGH_HEAD > RIGHT);
