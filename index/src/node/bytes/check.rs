//! The invariants of a node for byte strings.

use super::block::tail_words;
use super::contents::prefix_of;
use super::probe::word_at;
use super::{BLOCKS, BytesNode};
use crate::node::{Layout, NodeDefect};

impl BytesNode {
    /// Returns the broken invariants of the node. No writer may be active.
    pub(super) fn defects(&self) -> Vec<NodeDefect<Box<[u8]>>> {
        let mut broken = Vec::new();
        let mut expect = |holds: bool, invariant, at: &[u8]| {
            if !holds {
                broken.push(NodeDefect { invariant, key: at.into() });
            }
        };
        let side = self.side();
        let (low, high, prefix) = (&*side.low, side.high.as_deref(), self.prefix_len());
        if self.is_dead() {
            expect(self.is_empty(), "a dead node has no entries", low);
            return broken;
        }
        expect(high.is_some() == (self.right() != 0), "only the rightmost node has no high key", low);
        expect(high.is_none_or(|high| low < high), "low is below high", low);
        expect(self.compare_prefix(low, prefix).is_eq(), "the node has the prefix of its low key", low);
        let contents = self.gather();
        let common = prefix_of(low, &contents.pairs());
        expect(prefix <= common, "all keys and the low key have the prefix", low);
        let keys = || (0..contents.len()).map(|at| contents.key(at));
        expect(keys().is_sorted_by(|one, next| one < next), "keys ascend", low);
        expect(keys().all(|key| key >= low), "no key is below low", low);
        expect(keys().all(|key| high.is_none_or(|high| key < high)), "every key is below high", low);
        if self.level() > 0 {
            expect(keys().next() == Some(low), "an inner node's first key is its low key", low);
        }
        let long = keys().filter(|key| tail_words(key.len() - prefix) == 1 && key.len() - prefix > 16);
        let kept = side.long.iter().flatten().count();
        expect(long.count() == kept, "the side record has the long keys of the entries", low);
        let mut key = Vec::new();
        for number in 0..BLOCKS {
            let block = self.block(number);
            let from = if number == 0 { 0 } else { self.separator(number).get() };
            let to = if number + 1 == BLOCKS { self.high_head() } else { self.separator(number + 1).get() };
            expect(from <= to, "separators ascend", low);
            for at in 0..block.len() {
                self.copy_key(block, at, &mut key);
                expect(block.head(at) == word_at(&key, prefix), "an entry has the head of its key", &key);
                expect((from..=to).contains(&block.head(at)), "heads match the separators", &key);
            }
        }
        broken
    }
}
