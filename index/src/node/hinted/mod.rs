//! A node whose first cache line tells where a key is.
//!
//! The entries are in `B` blocks of eight, each a line of keys and a line of values. The lowest
//! keys of blocks 1 to `B - 1`, the *separators*, fill the rest of the header's line (and a few
//! more lines in larger nodes). The number of separators not above a key is the index of the key's
//! block. One *meta* line has the fields of the node as a whole. A node of 1 KiB:
//!
//! ```text
//! line 0    header, separators of blocks 1 to 6
//! line 1    meta: high, right link, low, state, value of u64::MAX
//! line 2-3  block 6: keys, values
//!   ...
//! line 14   block 0: keys, values
//! ```
//!
//! A lookup must not pay a cache miss for the meta line. Only keys of the last block can be out of
//! the node's range, because unused separators equal `high`. So only these keys need the meta line,
//! which directly precedes their block: the three lines are fetched as one run. (That is why blocks
//! are stored backwards.) For all other blocks the next separator is the upper bound. A dead node's
//! separators and its `high` are 0. So every key falls into the last block and is out of its bound,
//! which costs live nodes nothing.
//!
//! Within a block, keys ascend and are followed by padding of `u64::MAX`. The entry of that key
//! itself is kept in the meta line. There is no count, as keeping it would write one more line for
//! every insertion.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | where the parts of a node are, and how a key's block is found |
//! | `operations` | lookups, changes, splits and merges: the implementation of [`Layout`] |
//! | `rebalance` | distributing entries over blocks, insertion into a full block |
//! | `check` | the invariants of a node |

mod check;
mod operations;
mod rebalance;

use super::HEADER_BYTES;
#[cfg(doc)]
use super::Layout;
use super::block::{BLOCK_ENTRIES, Block};
use super::search::{self, LINE_WORDS, SEPARATORS};
use core::hint::select_unpredictable;
use xtasking::{Version, Word, arena::WriteToken, platform::CACHE_LINE};

/// Words of the meta line. In a node of 1 KiB the first one comes right after the separators.
const HIGH: usize = 0;
const RIGHT: usize = 1;
const LOW: usize = 2;
const STATE: usize = 3;
const LAST_VALUE: usize = 4;

/// Bits of the state word: the node is dead; it has an entry for `u64::MAX`; the level.
const DEAD: u64 = 1;
const HAS_LAST: u64 = 2;
const LEVEL_SHIFT: u32 = 8;

/// A node of `WORDS` words whose first cache line tells where its keys are.
///
/// `WORDS` is a power of two minus the two words of the header: 62, 126 (the default, 1 KiB), 254
/// or 510.
#[repr(C)]
pub struct HintedNode<const WORDS: usize> {
    words: [Word; WORDS],
}

/// The index of a block of a node of this size: less than `BLOCKS`. Only `block_of` makes others
/// than 0.
#[derive(Clone, Copy, Default)]
pub struct BlockIndex<const WORDS: usize>(usize);

/// Separators of larger nodes are searched in groups of seven blocks.
const BLOCKS_PER_GROUP: usize = SEPARATORS + 1;

/// Returns the number of separator lines, including the header's, and the number of blocks.
const fn geometry(words: usize) -> (usize, usize) {
    let lines = (words * 8 + HEADER_BYTES) / CACHE_LINE;
    let mut hint_lines = 1;
    loop {
        let room = (lines - meta_line(hint_lines) - 1) / 2;
        let blocks = if room > BLOCKS_PER_GROUP { room - room % BLOCKS_PER_GROUP } else { room };
        if line_word(hint_lines) >= blocks - 1 {
            return (hint_lines, blocks);
        }
        hint_lines += 1;
    }
}

/// The meta line is odd, so that every block starts on an even line: the hardware fetches pairs of
/// lines.
const fn meta_line(hint_lines: usize) -> usize {
    hint_lines | 1
}

/// The first word of a line.
const fn line_word(line: usize) -> usize {
    line * LINE_WORDS - HEADER_BYTES / 8
}

impl<const WORDS: usize> HintedNode<WORDS> {
    const HINT_LINES: usize = {
        assert!(WORDS >= 62 && WORDS <= 510 && (WORDS + 2).is_power_of_two());
        geometry(WORDS).0
    };
    const BLOCKS: usize = geometry(WORDS).1;
    const GROUPS: usize = Self::BLOCKS.div_ceil(BLOCKS_PER_GROUP);
    const META_LINE: usize = meta_line(Self::HINT_LINES);
    const META: usize = line_word(Self::META_LINE);

    /// Entries from which on an insertion into a full block splits the node instead of rearranging
    /// it. With a lower threshold nodes are rearranged more rarely (at 15/16, by one insertion of
    /// 25), but stay emptier.
    const SPLIT_THRESHOLD: usize = Self::BLOCKS * BLOCK_ENTRIES * 15 / 16;

    #[inline(always)]
    fn meta(&self, word: usize) -> &Word {
        &self.words[Self::META + word]
    }

    /// Returns the block of `key`: the number of separators not above it. No branch depends on the
    /// key.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn block_of(&self, key: u64) -> usize {
        let not_above = |separator: &Word| separator.get() <= key;
        let first = (1..Self::GROUPS)
            .map(|group| {
                select_unpredictable(
                    not_above(&self.words[group * BLOCKS_PER_GROUP - 1]),
                    BLOCKS_PER_GROUP,
                    0,
                )
            })
            .sum::<usize>();
        if Self::BLOCKS < BLOCKS_PER_GROUP {
            return self.words[..Self::BLOCKS - 1].iter().map(|word| usize::from(not_above(word))).sum();
        }
        let (separators, _) = self.words[first..].split_first_chunk().expect("all groups are whole");
        first + search::count_not_above(separators, key)
    }

    /// Returns an upper bound of the keys of `block` in this node. For all blocks but the last it
    /// is the next separator, which is in a fetched line; for the last it is `high`. Selecting the
    /// index leaves one branch, which is hardly ever taken.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn bound(&self, block: usize) -> u64 {
        debug_assert!(block < Self::BLOCKS);
        let high = Self::META + HIGH;
        let place = if high == Self::BLOCKS - 1 {
            block
        } else {
            select_unpredictable(block == Self::BLOCKS - 1, high, block)
        };
        // SAFETY: `block` is less than `BLOCKS`, for the reasons that `block` gives, and a node has
        // more words than blocks. `high` is in the meta line.
        unsafe { self.words.get_unchecked(place) }.get()
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
        // SAFETY: `block` is less than `BLOCKS`: it comes from a loop up to `BLOCKS` or, perhaps as
        // a `BlockIndex`, from `block_of` of a node of this size, which cannot exceed the last
        // block, as all groups are whole or there is only one. Blocks lie between the meta line and
        // the end of the node (`geometry` counts them so), each in `2 * BLOCK_ENTRIES` words.
        Block::new(unsafe { &*self.words.as_ptr().add(start).cast() })
    }

    fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        (0..Self::BLOCKS).map(|block| self.block(block))
    }

    /// The value of `u64::MAX`, if this node has that key.
    #[inline]
    fn last_entry(&self) -> Option<u64> {
        (self.meta(STATE).get() & HAS_LAST != 0).then(|| self.meta(LAST_VALUE).get())
    }

    fn set_last_entry(&self, value: Option<u64>, token: &WriteToken<'_>) {
        let state = self.meta(STATE).get();
        self.meta(STATE).set(if value.is_some() { state | HAS_LAST } else { state & !HAS_LAST }, token);
        self.meta(LAST_VALUE).set(value.unwrap_or(0), token);
    }

    /// Returns why `key` is not below the bound of its block.
    #[cold]
    #[inline(never)]
    fn beyond(&self, key: u64) -> BeyondBound {
        let right = self.meta(RIGHT).get();
        if right != 0 && key >= self.meta(HIGH).get() {
            BeyondBound::Right(right)
        } else if key == u64::MAX {
            BeyondBound::Last(self.last_entry())
        } else {
            BeyondBound::Torn
        }
    }

    /// Changes a node that is not shared.
    fn with_exclusive_token(&mut self, change: impl FnOnce(&Self, &WriteToken<'_>)) {
        // SAFETY: the exclusive borrow excludes all other readers and writers while the token
        // lives.
        change(self, &unsafe { WriteToken::assume() });
    }
}

/// Why a key is not below the bound of its block.
enum BeyondBound {
    /// The key belongs to the node with this link.
    Right(u64),
    /// The key is `u64::MAX`, with this value.
    Last(Option<u64>),
    /// The contents are torn: a writer is active.
    Torn,
}

impl<const WORDS: usize> Version for HintedNode<WORDS> {}
