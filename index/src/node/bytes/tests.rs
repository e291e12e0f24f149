//! Readers of torn nodes: whatever the words contain, they end, and panic nowhere.

use super::*;
use crate::node::{Layout, WriteMode, WriteResult};
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

#[test]
fn half_of_a_full_node_has_room() {
    let mut random = Random(2);
    for _ in 0..200 {
        let (node, keys) = filled(&mut random);
        // SAFETY: this thread is the only user of the nodes.
        let token = unsafe { WriteToken::assume() };
        let len = random.below(90) as usize;
        let pending: Vec<u8> = b"ab".iter().copied().chain((0..len).map(|_| random.word() as u8)).collect();
        if node.write(&pending, 1, WriteMode::Insert, &token) != WriteResult::Full {
            continue;
        }
        let mut right = BytesNode::new(0, b"");
        let separator = node.split(&mut right, 64, &pending, &token);
        let half = if *pending < *separator { &node } else { &right };
        assert_eq!(half.write(&pending, 1, WriteMode::Insert, &token), WriteResult::Inserted);
        assert_eq!((node.check(), right.check()), (vec![], vec![]));
        assert_eq!(node.len() + right.len(), keys.len() + 1);
        drop(node.take_replaced(&token));
    }
}
