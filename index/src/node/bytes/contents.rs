//! Distributing entries over the blocks of a node.

use super::block::{BLOCK_ENTRIES, Block, MAX_REST, Rest, TAIL_WORDS, tail_words};
use super::probe::{common_prefix, word_at};
use super::side::Side;
use super::{BLOCKS, BytesNode, HIGH_HEAD, PREFIX, PREFIX_SHIFT, PREFIX_WORDS, STATE};
use xtasking::arena::WriteToken;

/// The entries of a node, in order.
#[derive(Default)]
pub(super) struct Contents {
    bytes: Vec<u8>,
    /// The end of each key, and its value.
    entries: Vec<(usize, u64)>,
}

impl Contents {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.entries[before].0);
        &self.bytes[start..self.entries[at].0]
    }

    pub fn value(&self, at: usize) -> u64 {
        self.entries[at].1
    }

    pub fn push(&mut self, key: &[u8], value: u64) {
        self.bytes.extend_from_slice(key);
        self.entries.push((self.bytes.len(), value));
    }

    /// The keys and values.
    pub fn pairs(&self) -> Vec<(&[u8], u64)> {
        (0..self.len()).map(|at| (self.key(at), self.value(at))).collect()
    }
}

/// Returns the room that an entry takes in a block: a whole block has `BLOCK_ROOM`.
const fn room(tail: usize) -> usize {
    let (by_count, by_words) = (TAIL_WORDS, BLOCK_ENTRIES * tail);
    if by_count > by_words { by_count } else { by_words }
}

/// The room of a block.
pub(super) const BLOCK_ROOM: usize = BLOCK_ENTRIES * TAIL_WORDS;

/// Room taken from which on an insertion into a full block splits the node instead of rearranging
/// it.
pub(super) const SPLIT_ROOM: usize = BLOCKS * BLOCK_ROOM * 7 / 8;

/// Returns the room that a key takes behind a prefix.
pub(super) fn room_of(key: &[u8], prefix: usize) -> usize {
    room(tail_words(key.len().saturating_sub(prefix)))
}

/// Returns the bytes of the prefix of a node that begins at `low` and has these entries.
pub(super) fn prefix_of(low: &[u8], pairs: &[(&[u8], u64)]) -> usize {
    pairs.last().map_or(low.len(), |(last, _)| common_prefix(low, last))
}

impl BytesNode {
    /// Returns all entries.
    pub(super) fn gather(&self) -> Contents {
        let mut contents = Contents::default();
        self.visit_blocks(0, 0, |key, value| contents.push(key, value));
        contents
    }

    /// Calls `visit` for all entries from an entry of a block on.
    pub(super) fn visit_blocks(&self, block: usize, at: usize, mut visit: impl FnMut(&[u8], u64)) {
        let mut key = Vec::with_capacity(128);
        let mut first = at;
        for block in (block..BLOCKS).map(|block| self.block(block)) {
            for at in first..block.len() {
                self.copy_key(block, at, &mut key);
                visit(&key, block.value(at).get());
            }
            first = 0;
        }
    }

    /// Copies the key of an entry.
    pub(super) fn copy_key(&self, block: Block<'_>, at: usize, into: &mut Vec<u8>) {
        into.clear();
        let len = self.prefix_len();
        if len <= 8 * PREFIX_WORDS {
            let words = self.words[PREFIX..PREFIX + len.div_ceil(8)].iter();
            words.for_each(|word| into.extend_from_slice(&word.get().to_be_bytes()));
            into.truncate(len);
        } else {
            into.extend_from_slice(self.side().low.get(..len).unwrap_or(&[]));
        }
        block.append_rest(at, into, || self.side());
    }

    /// Replaces the bounds and all entries. The prefix is as long as possible, or that of
    /// `shorter` bytes if the entries fit with that one only: a key that becomes short enough for a
    /// block by the longer prefix takes more words there. Returns false, without changing anything,
    /// if the entries do not fit.
    pub(super) fn lay_out(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
        pairs: &[(&[u8], u64)],
        shorter: usize,
        token: &WriteToken<'_>,
    ) -> bool {
        let longest = prefix_of(low, pairs);
        let mut prefixes = [longest, shorter.min(longest)].into_iter();
        let Some((prefix, ends)) =
            prefixes.find_map(|prefix| distribute(pairs, prefix).map(|ends| (prefix, ends)))
        else {
            return false;
        };
        let old = self.side();
        let mut side = Side { low: old.low.clone(), high: old.high.clone(), long: Vec::new() };
        let mut is_changed = !old.long.is_empty();
        if *side.low != *low {
            (side.low, is_changed) = (low.into(), true);
        }
        if side.high.as_deref() != high {
            (side.high, is_changed) = (high.map(Into::into), true);
        }
        let mut start = 0;
        for (number, end) in ends.into_iter().enumerate() {
            let entries = pairs[start..end].iter().map(|&(key, value)| {
                let rest = &key[prefix..];
                if rest.len() <= MAX_REST {
                    return (Rest::Whole(rest), value);
                }
                is_changed = true;
                (Rest::Long { head: word_at(rest, 0), index: side.add(key.into()) }, value)
            });
            self.block(number).set_all(entries, token);
            start = end;
        }
        self.set_bounds(low, high, prefix, token);
        let mut start = 0;
        for (block, end) in (1..BLOCKS).zip(ends) {
            // The head of an unused block is that of `high`: no key of the node is above.
            start = start.max(end);
            let head = pairs.get(start).map_or(self.high_head(), |(key, _)| word_at(key, prefix));
            self.separator(block).set(head, token);
        }
        if is_changed {
            self.set_side(side, token);
        }
        true
    }

    /// Sets the words that follow from the bounds.
    fn set_bounds(&self, low: &[u8], high: Option<&[u8]>, prefix: usize, token: &WriteToken<'_>) {
        let below = (1 << PREFIX_SHIFT) - 1;
        self.words[STATE].set(self.state() & below | (prefix as u64) << PREFIX_SHIFT, token);
        for word in 0..PREFIX_WORDS {
            self.words[PREFIX + word].set(word_at(&low[..prefix], 8 * word), token);
        }
        // If `high` does not have the prefix, it is above all keys that do.
        let high = high.filter(|high| high.starts_with(&low[..prefix]));
        self.words[HIGH_HEAD].set(high.map_or(u64::MAX, |high| word_at(high, prefix)), token);
    }
}

/// Returns true if the entries leave some room in a node that begins at `low`.
pub(super) fn has_bulk_room(low: &[u8], pairs: &[(&[u8], u64)]) -> bool {
    let prefix = prefix_of(low, pairs);
    let taken: usize = pairs.iter().map(|(key, _)| room_of(key, prefix)).sum();
    taken <= SPLIT_ROOM && distribute(pairs, prefix).is_some()
}

/// Divides entries among blocks: returns where each block ends. `None` if they do not fit.
fn distribute(pairs: &[(&[u8], u64)], prefix: usize) -> Option<[usize; BLOCKS]> {
    let total: usize = pairs.iter().map(|(key, _)| room_of(key, prefix)).sum();
    // Evenly if possible, else as many as fit into each block.
    divide(pairs, prefix, total.div_ceil(BLOCKS)).or_else(|| divide(pairs, prefix, BLOCK_ROOM))
}

/// Divides entries among blocks of which each takes a certain part of all.
fn divide(pairs: &[(&[u8], u64)], prefix: usize, each: usize) -> Option<[usize; BLOCKS]> {
    let mut ends = [pairs.len(); BLOCKS];
    let (mut block, mut taken, mut entries, mut words) = (0, 0, 0, 0);
    for (at, (key, _)) in pairs.iter().enumerate() {
        let tail = tail_words(key.len() - prefix);
        let is_full = entries == BLOCK_ENTRIES || words + tail > TAIL_WORDS;
        if is_full || (each < BLOCK_ROOM && block + 1 < BLOCKS && taken >= each * (block + 1)) {
            ends[block] = at;
            block += 1;
            (entries, words) = (0, 0);
            if block == BLOCKS {
                return None;
            }
        }
        taken += room(tail);
        entries += 1;
        words += tail;
    }
    Some(ends)
}
