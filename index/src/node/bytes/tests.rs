//! Readers of torn nodes: whatever the words contain, they end, and panic nowhere. Splits and
//! merges with keys of all lengths.

use super::*;
use crate::node::{Layout, RemoveResult, WriteMode, WriteResult};
use std::collections::BTreeMap;
use xtasking_testing::Random;

/// Fills a node until it is full, and returns the keys.
fn filled(random: &mut Random) -> (BytesNode, Vec<Vec<u8>>) {
    let (node, mut keys) = (BytesNode::new(0, b"ab"), Vec::new());
    // SAFETY: this thread is the only user of the node.
    let token = unsafe { WriteToken::assume() };
    loop {
        let len = [3, 20, 60, 200][random.below(4) as usize];
        let key: Vec<u8> = b"ab".iter().copied().chain((0..len).map(|_| random.word() as u8)).collect();
        match node.write(&key, random.word(), WriteMode::Insert, &token) {
            WriteResult::Inserted => keys.push(key),
            WriteResult::Full => return (node, keys),
            other => assert!(matches!(other, WriteResult::Exists(_)), "{other:?}"),
        }
    }
}

#[test]
fn a_torn_node_misleads_readers_but_does_not_stop_them() {
    let mut random = Random(1);
    for _ in 0..40 {
        let (node, keys) = filled(&mut random);
        // SAFETY: this thread is the only user of the node.
        let token = unsafe { WriteToken::assume() };
        assert_eq!(node.check(), []);
        for _ in 0..60 {
            // Words move, and bits flip, except for those that are always valid by themselves.
            let (to, from) = (random.below(WORDS as u64) as usize, random.below(WORDS as u64) as usize);
            if (RIGHT..FIRST_BLOCK).contains(&to) {
                continue;
            }
            let word = node.words[from].get() ^ (random.word() & random.word() & random.word());
            node.words[to].set(word, &token);
            let key = &keys[random.below(keys.len() as u64) as usize];
            _ = (node.find(key), node.descend(key), node.locate(key), node.find(&key[..3]));
            _ = (node.level(), node.low(), node.high(), node.len(), node.is_empty(), node.is_dead());
            let mut visited = 0;
            node.visit(key, |_, _| visited += 1);
            assert!(visited <= crate::node::Entries::CAPACITY);
            _ = node.siblings(key);
        }
    }
}

/// A list of nodes as in one level of a tree, and what they must contain.
struct Level {
    nodes: Vec<BytesNode>,
    map: BTreeMap<Vec<u8>, u64>,
}

impl Level {
    fn new() -> Self {
        Self { nodes: vec![BytesNode::new(0, b"")], map: BTreeMap::new() }
    }

    /// Returns the index of the node that covers a key.
    fn covering(&self, key: &[u8]) -> usize {
        self.nodes.partition_point(|node| *node.low() <= *key) - 1
    }

    /// Inserts a key, and splits nodes that are full.
    fn insert(&mut self, key: &[u8], value: u64, token: &WriteToken<'_>) {
        for _ in 0..3 {
            let at = self.covering(key);
            let node = &self.nodes[at];
            match node.write(key, value, WriteMode::Insert, token) {
                WriteResult::Inserted => return assert_eq!(self.map.insert(key.into(), value), None),
                WriteResult::Exists(old) => return assert_eq!(self.map.get(key), Some(&old)),
                WriteResult::Full => {
                    let mut right = BytesNode::new(0, b"");
                    let separator = node.split(&mut right, 64, key, token);
                    assert_eq!(separator, right.low());
                    self.nodes.insert(at + 1, right);
                }
                other => panic!("{other:?}"),
            }
        }
        panic!("{key:?} has no room in a node that was split");
    }

    fn remove(&mut self, key: &[u8], token: &WriteToken<'_>) {
        let removed = self.nodes[self.covering(key)].remove(key, token);
        match (removed, self.map.remove(key)) {
            (RemoveResult::Done { value, .. }, Some(old)) => assert_eq!(value, old),
            (RemoveResult::Missing, None) => {}
            other => panic!("{other:?}"),
        }
    }

    /// Merges a node with the next one, if their entries fit into one.
    fn merge(&mut self, at: usize, token: &WriteToken<'_>) {
        if let [left, right] = &self.nodes[at..(at + 2).min(self.nodes.len())]
            && left.absorb(64, right, token, token)
        {
            self.nodes.remove(at + 1);
        }
    }

    fn check(&self) {
        let mut all = Vec::new();
        for node in &self.nodes {
            assert_eq!(node.check(), []);
            node.visit(&node.low(), |key, value| all.push((key.to_vec(), value)));
        }
        assert!(all.iter().map(|(key, value)| (key, value)).eq(&self.map), "entries were lost");
    }
}

/// How many words a key takes in a block depends on the prefix of its node: a key that is too long
/// for the block takes one, and with a longer prefix up to seven.
#[test]
fn splits_and_merges_lose_no_key_of_any_length() {
    let mut random = Random(3);
    for _ in 0..if cfg!(miri) { 2 } else { 150 } {
        let mut level = Level::new();
        // SAFETY: this thread is the only user of the nodes.
        let token = unsafe { WriteToken::assume() };
        let (common, shortest, lengths) = (random.below(80), random.below(75), 1 + random.below(20));
        for step in 0..600 {
            let begins = random.below(common + 1).max(random.below(common + 1)) as usize;
            let len = begins + (shortest + random.below(lengths)) as usize;
            let mut key = vec![b'p'; begins];
            key.resize_with(len, || [0, b'p', 0xff, random.word() as u8][random.below(4) as usize]);
            match random.below(8) {
                0 => {
                    let from = level.map.range(key..).next().map(|(key, _)| key.clone());
                    from.into_iter().for_each(|key| level.remove(&key, &token));
                }
                1 => level.merge(random.below(level.nodes.len() as u64) as usize, &token),
                _ => level.insert(&key, random.word(), &token),
            }
            if step % 50 == 0 {
                level.check();
            }
            level.nodes.iter().for_each(|node| drop(node.take_replaced(&token)));
        }
        level.check();
    }
}
