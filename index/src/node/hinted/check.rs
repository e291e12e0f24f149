//! The invariants of a hinted node.

use super::{HIGH, HintedNode};
use crate::node::block::{BLOCK_ENTRIES, PADDING};
use crate::node::{Layout, NodeDefect};

impl<const WORDS: usize> HintedNode<WORDS> {
    /// Returns the broken invariants of the node. No writer may be active.
    pub(super) fn defects(&self) -> Vec<NodeDefect> {
        let mut broken = Vec::new();
        let mut expect = |holds: bool, invariant, at| {
            if !holds {
                broken.push(NodeDefect { invariant, key: at });
            }
        };
        let (low, high, is_inner) = (self.low(), self.meta(HIGH).get(), self.level() > 0);
        if self.is_dead() {
            expect(
                (1..Self::BLOCKS).all(|block| self.separator(block).get() == 0),
                "the separators of a dead node are 0",
                low,
            );
            expect(high == 0, "a dead node has no high key", high);
            return broken;
        }
        expect(self.right() != 0 || high == u64::MAX, "the rightmost node has no high key", high);
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
            expect((len..BLOCK_ENTRIES).all(|at| block.key(at) == PADDING), "padding follows the keys", from);
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
