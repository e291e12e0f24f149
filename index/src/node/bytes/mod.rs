//! A node for byte strings of any length.
//!
//! A node has 2 KiB. Its first two lines, the *hint lines*, tell which one of six blocks of five
//! lines has a key. A lookup fetches the hint lines, and then the block.
//!
//! ```text
//! line 0      header, heads of blocks 1 to 5, state
//! line 1      prefix (32 bytes), right link, head of `high`, side record, replaced records
//! line 2-6    block 0: heads, values, tails
//!   ...
//! line 27-31  block 5
//! ```
//!
//! All keys of a node begin with its *prefix*, which is not repeated in the blocks: what `low` and
//! the last key had in common when the entries were distributed over the blocks. A key that does
//! not begin with it is above all entries. If such a key is inserted, they are distributed again.
//! What follows the prefix is compared by *heads*, its first eight bytes as a number. The number of
//! heads of blocks not above that of a key is the index of the key's block. Several keys may have
//! the same head, though, and so the block before may have the key. A search goes back to it if the
//! key is below all keys of the block. This costs a cache miss, but with few equal heads it is
//! rare.
//!
//! What has no fixed size is in the *side record* of a node, which never changes: `low`, `high`,
//! and keys that are too long for a block. A writer replaces it as a whole. Readers may still read
//! the old one, so the tree passes it to the runtime; see [`Layout::take_replaced`].
//!
//! | file | contents |
//! |---|---|
//! | `mod` | where the parts of a node are, and how a key's block is found |
//! | `probe` | a key that is searched |
//! | `block` | the entries of a block |
//! | `side` | the side record |
//! | `contents` | distributing entries over blocks |
//! | `operations` | lookups, changes, splits and merges: the implementation of [`Layout`] |
//! | `check` | the invariants of a node |

mod block;
mod check;
mod contents;
mod operations;
mod probe;
mod side;
#[cfg(test)]
mod tests;

use super::Layout;
use super::search::{LINE_WORDS, SEPARATORS};
use super::{HEADER_BYTES, words};
use crate::record::Record;
use block::{BLOCK_WORDS, Block};
use core::cmp::Ordering;
use probe::{Probe, word_at};
pub use side::ReplacedSides;
use side::Side;
use xtasking::{Version, Word, arena::WriteToken};

/// Words of a node.
const WORDS: usize = words(2048);
/// Blocks of a node.
const BLOCKS: usize = 6;
/// Words of the prefix in the node.
const PREFIX_WORDS: usize = 4;

/// Words of the hint lines. The heads of the blocks come first.
const STATE: usize = BLOCKS - 1;
const PREFIX: usize = STATE + 1;
const RIGHT: usize = PREFIX + PREFIX_WORDS;
const HIGH_HEAD: usize = RIGHT + 1;
const SIDE: usize = HIGH_HEAD + 1;
const REPLACED: usize = SIDE + 1;
const FIRST_BLOCK: usize = REPLACED + 1;

/// Lines before the first block.
const HINT_LINES: usize = (FIRST_BLOCK * 8 + HEADER_BYTES) / (8 * LINE_WORDS);

const _: () = assert!(BLOCKS - 1 < SEPARATORS && FIRST_BLOCK + BLOCKS * BLOCK_WORDS == WORDS);

/// Parts of the state: the node is dead; the level; the bytes of the prefix.
const DEAD: u64 = 1;
const LEVEL_SHIFT: u32 = 8;
const PREFIX_SHIFT: u32 = 16;

/// A node of 2 KiB for byte strings of any length. The hint lines tell where its keys are.
#[repr(C)]
pub struct BytesNode {
    words: [Word; WORDS],
}

/// Where a key is in a node.
#[derive(Clone, Copy, Default)]
pub struct BytesPlace {
    /// The index of the block.
    block: u8,
    /// The key is above all keys with the node's prefix, or the node is dead.
    is_beyond: bool,
    /// Bytes of the node's prefix.
    prefix: u64,
}

impl BytesNode {
    #[inline(always)]
    fn state(&self) -> u64 {
        self.words[STATE].get()
    }

    /// Bytes of the prefix.
    #[inline(always)]
    fn prefix_len(&self) -> usize {
        (self.state() >> PREFIX_SHIFT) as usize
    }

    /// The lowest head of block 1 or a higher one.
    #[inline(always)]
    fn separator(&self, block: usize) -> &Word {
        &self.words[block - 1]
    }

    #[inline(always)]
    fn block(&self, block: usize) -> Block<'_> {
        let start = FIRST_BLOCK + block % BLOCKS * BLOCK_WORDS;
        let (words, _) = self.words[start..].split_first_chunk().expect("all blocks are whole");
        Block::new(words)
    }

    fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        (0..BLOCKS).map(|block| self.block(block))
    }

    /// The side record.
    fn side(&self) -> &Side {
        // SAFETY: the word of a node that is in use holds nothing but words of side records, each
        // stored with release when its record was complete. The tree passes a record that was
        // replaced to `Context::drop_later`, and a node is dropped only once nothing reads it. So
        // none is dropped while the caller has the reference, as it may read the node until then.
        unsafe { Record::follow(self.words[SIDE].get_acquire()) }
    }

    /// Replaces the side record. The old one is kept until it is taken or the node dropped.
    fn set_side(&self, side: Side, token: &WriteToken<'_>) {
        let old = self.words[SIDE].get();
        self.words[SIDE].set_release(Record::new(side).into_word(), token);
        // SAFETY: the words are those of records whose owner is the node, and are overwritten here.
        let (old, mut replaced) = unsafe { (Record::from_word(old), self.owned_replaced()) };
        replaced.push(old);
        self.words[REPLACED].set(Record::new(replaced).into_word(), token);
    }

    /// Moves the replaced records out.
    ///
    /// # Safety
    ///
    /// No other thread uses the word of replaced records, and the caller overwrites it.
    unsafe fn owned_replaced(&self) -> Vec<Record<Side>> {
        match self.words[REPLACED].get() {
            0 => Vec::new(),
            // SAFETY: the word came from `into_word`; this function's contract.
            word => unsafe { Record::<Vec<Record<Side>>>::from_word(word) }.into_value(),
        }
    }

    /// Changes a node that is not shared.
    fn with_exclusive_token(&mut self, change: impl FnOnce(&Self, &WriteToken<'_>)) {
        // SAFETY: the exclusive borrow excludes all other readers and writers while the token
        // lives.
        change(self, &unsafe { WriteToken::assume() });
    }

    /// Compares the beginning of a key with the node's prefix.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn compare_prefix(&self, key: &[u8], len: usize) -> Ordering {
        for word in 0..len.div_ceil(8).min(PREFIX_WORDS) {
            let bytes = (len - 8 * word).min(8);
            let mask = u64::MAX << (64 - 8 * bytes);
            match (word_at(key, 8 * word) & mask).cmp(&self.words[PREFIX + word].get()) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        }
        if len > 8 * PREFIX_WORDS { self.compare_long_prefix(key, len) } else { Ordering::Equal }
    }

    #[cold]
    #[inline(never)]
    fn compare_long_prefix(&self, key: &[u8], len: usize) -> Ordering {
        let prefix = self.side().low.get(..len).unwrap_or(&[]);
        key.get(..len).unwrap_or(key).cmp(prefix)
    }

    /// Returns where `key` is: what the hint lines tell.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn find_place(&self, key: &[u8]) -> BytesPlace {
        let state = self.state();
        let prefix = state >> PREFIX_SHIFT;
        let (last, beyond) = (BLOCKS as u8 - 1, true);
        if state & DEAD != 0 || self.compare_prefix(key, prefix as usize) == Ordering::Greater {
            return BytesPlace { block: last, is_beyond: beyond, prefix };
        }
        let head = word_at(key, prefix as usize);
        let block = self.words[..BLOCKS - 1].iter().map(|first| u8::from(first.get() <= head)).sum();
        BytesPlace { block, is_beyond: false, prefix }
    }

    /// Returns the right link if the node does not cover `key`.
    #[inline(always)]
    fn right_link_for(&self, probe: &Probe<'_>, place: BytesPlace) -> Option<u64> {
        // For all blocks but the last the next head is an upper bound.
        if usize::from(place.block) < BLOCKS - 1 || !place.is_beyond && probe.head < self.high_head() {
            return None;
        }
        self.beyond(probe, place)
    }

    #[inline(always)]
    fn high_head(&self) -> u64 {
        self.words[HIGH_HEAD].get()
    }

    #[cold]
    #[inline(never)]
    fn beyond(&self, probe: &Probe<'_>, place: BytesPlace) -> Option<u64> {
        let right = self.words[RIGHT].get();
        let by_head = !place.is_beyond && probe.head > self.high_head();
        let is_above = || self.side().high.as_deref().is_some_and(|high| probe.key >= high);
        (right != 0 && (self.is_dead() || by_head || is_above())).then_some(right)
    }

    /// Returns the place of the first entry whose key is not below the probe: the index of its
    /// block and in the block, and whether it is that key.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn search(&self, probe: &Probe<'_>, mut block: usize) -> (usize, usize, bool) {
        loop {
            let (at, is_equal) = self.block(block).search(probe, || self.side());
            // Keys with the same head may be in the block before.
            if at > 0 || is_equal || block == 0 || self.separator(block).get() < probe.head {
                return (block, at, is_equal);
            }
            block -= 1;
        }
    }
}

impl Version for BytesNode {}

impl Drop for BytesNode {
    fn drop(&mut self) {
        let words = [SIDE, REPLACED].map(|word| self.words[word].get());
        // SAFETY: a node is dropped once nothing reads it any more, and owns the records that these
        // words point to. The side record of a node is missing only if it was taken.
        unsafe {
            if words[0] != 0 {
                drop(Record::<Side>::from_word(words[0]));
            }
            if words[1] != 0 {
                drop(Record::<Vec<Record<Side>>>::from_word(words[1]));
            }
        }
    }
}
