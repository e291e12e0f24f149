//! Distributing entries over the blocks of a hinted node.

use super::{HIGH, HintedNode};
use crate::node::block::BLOCK_ENTRIES;
use crate::node::pairs::Pairs;
use crate::node::{Layout, WriteResult};
use xtasking::arena::WriteToken;

impl<const WORDS: usize> HintedNode<WORDS> {
    /// Returns the entries of the blocks, without that of `u64::MAX`.
    pub(super) fn gather(&self) -> Pairs<WORDS> {
        let mut pairs = Pairs::new();
        for block in self.blocks() {
            block.visit(0, |key, value| pairs.push(key, value));
        }
        pairs
    }

    /// Returns true if the node has few entries. It reads all blocks, so it is asked rarely.
    #[cold]
    #[inline(never)]
    pub(super) fn is_sparse(&self) -> bool {
        self.len() <= Self::SPARSE
    }

    /// Returns the last child of the blocks. It is not inlined, to keep the buffer off the callers'
    /// stack frames.
    #[cold]
    #[inline(never)]
    pub(super) fn last_child(&self) -> u64 {
        self.gather().as_slice().last().map_or(0, |pair| pair.1)
    }

    /// Distributes entries evenly over the blocks. If there are fewer entries than blocks, the
    /// blocks at the end stay empty: in an inner node no empty block may precede another one.
    pub(super) fn lay_out(&self, pairs: &[(u64, u64)], high: u64, token: &WriteToken<'_>) {
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

    /// Inserts a key into a full block.
    #[cold]
    #[inline(never)]
    pub(super) fn insert_into_full_block(
        &self,
        block: usize,
        key: u64,
        value: u64,
        token: &WriteToken<'_>,
    ) -> WriteResult {
        let count = |block: usize| if block < Self::BLOCKS { self.block(block).len() } else { BLOCK_ENTRIES };
        let (left, right) = (count(block.wrapping_sub(1)), count(block + 1));
        if right == 0 && key > self.block(block).key(BLOCK_ENTRIES - 1) {
            // Keys arrive in ascending order: the blocks behind them stay full.
            self.block(block + 1).set_all(&[(key, value)], token);
            self.separator(block + 1).set(key, token);
            return WriteResult::Inserted;
        }
        if left.min(right) < BLOCK_ENTRIES - 1 {
            self.balance(if left < right { block - 1 } else { block }, key, value, token);
            return WriteResult::Inserted;
        }
        let mut pairs = self.gather();
        if pairs.as_slice().len() >= Self::SPLIT_THRESHOLD {
            return WriteResult::Full;
        }
        pairs.insert(key, value);
        self.lay_out(pairs.as_slice(), self.meta(HIGH).get(), token);
        WriteResult::Inserted
    }

    /// Inserts a key into `block` or the next one, and divides their entries equally.
    fn balance(&self, block: usize, key: u64, value: u64, token: &WriteToken<'_>) {
        let mut pairs = Pairs::<{ 2 * BLOCK_ENTRIES + 1 }>::new();
        for block in [block, block + 1] {
            self.block(block).visit(0, |key, value| pairs.push(key, value));
        }
        pairs.insert(key, value);
        let (left, right) = pairs.as_slice().split_at(pairs.as_slice().len() / 2);
        self.block(block).set_all(left, token);
        self.block(block + 1).set_all(right, token);
        self.separator(block + 1).set(right[0].0, token);
    }
}
