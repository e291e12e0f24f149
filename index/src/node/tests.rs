//! Both layouts in all sizes, compared with ordered maps, as chains of nodes that split and merge.

use super::*;
use crate::Words;
use proptest::prelude::*;
use std::collections::BTreeMap;
use xtasking::{Part, arena::WriteToken};
use xtasking_testing::PATIENCE;

pub(super) fn token() -> WriteToken<'static> {
    // SAFETY: each test uses its nodes from a single thread.
    unsafe { WriteToken::assume() }
}

/// One level of a tree: nodes linked to the right, and a model of their entries. A node's link is
/// its index plus one.
pub(super) struct Chain<L> {
    nodes: Vec<Box<L>>,
    level: u64,
    model: BTreeMap<u64, u64>,
}

impl<L: Layout<Keys = Words>> Chain<L> {
    pub(super) fn new(level: u64) -> Self {
        let mut chain = Self { nodes: vec![Box::new(L::new(level, 0))], level, model: BTreeMap::new() };
        assert!(chain.nodes[0].is_empty());
        if level > 0 {
            assert_eq!(chain.nodes[0].write(0, 7, WriteMode::Insert, &token()), WriteResult::Inserted);
            chain.model.insert(0, 7);
        }
        chain
    }

    fn node(&self, link: u64) -> &L {
        &self.nodes[link as usize - 1]
    }

    /// Finds the node that covers `key` as a tree does, by following right links, and returns its
    /// link.
    fn cover(&self, key: u64) -> u64 {
        let mut link = 1;
        loop {
            let node = self.node(link);
            let right = if self.level == 0 {
                match node.find(key) {
                    FindResult::Right(right) => right,
                    found => {
                        let value = self.model.get(&key).copied();
                        assert_eq!(found, value.map_or(FindResult::Missing, FindResult::Value));
                        0
                    }
                }
            } else {
                match node.descend(key) {
                    DescendResult::Right(right) => right,
                    down => {
                        let child = *self.model.range(..=key).next_back().unwrap().1;
                        assert_eq!(down, DescendResult::Child(child));
                        0
                    }
                }
            };
            let covers = key >= node.low() && node.high().is_none_or(|high| key < high);
            assert_eq!(covers, right == 0);
            if covers {
                return link;
            }
            assert_eq!(right, node.right());
            link = right;
        }
    }

    /// The entries that the node at `link` should hold.
    fn held(&self, link: u64) -> Vec<(u64, u64)> {
        let node = self.node(link);
        let all = self.model.range(node.low()..).map(|(key, value)| (*key, *value));
        all.take_while(|pair| node.high().is_none_or(|high| pair.0 < high)).collect()
    }

    pub(super) fn check(&self) {
        let (mut link, mut low, mut count) = (1, 0, 0);
        while link != 0 {
            let node = self.node(link);
            assert_eq!(node.check(), []);
            assert!(!node.is_dead());
            assert_eq!((node.level(), node.low()), (self.level, low));
            let (held, mut entries) = (self.held(link), Entries::new());
            node.entries(0, &mut entries);
            assert_eq!(entries.pairs(), held);
            assert_eq!((node.len(), node.is_empty()), (held.len(), held.is_empty()));
            count += held.len();
            link = node.right();
            low = node.high().unwrap_or(0);
            let onward = if link == 0 { ScanNext::End } else { ScanNext::Right { link, low } };
            assert_eq!(entries.onward(), onward);
        }
        assert_eq!(count, self.model.len());
    }

    pub(super) fn write(&mut self, key: u64, value: u64, how: WriteMode) {
        let link = self.cover(key);
        let old = self.model.get(&key).copied();
        let wrote = self.node(link).write(key, value, how, &token());
        if wrote == WriteResult::Full {
            assert_eq!((old, how == WriteMode::Update), (None, false));
            let held = self.held(link);
            assert!(held.len() * 10 >= L::CAPACITY * 9, "split with {} entries", held.len());
            let mut right = Box::new(L::new(self.level, 0));
            let new = self.nodes.len() as u64 + 1;
            let rightmost = self.node(link).right() == 0;
            let separator = self.node(link).split(&mut right, new, key, &token());
            assert_eq!((self.node(link).high(), right.low()), (Some(separator), separator));
            if rightmost && held.last().unwrap().0 < key {
                assert!(right.len() <= 1);
                assert!(key >= separator);
            }
            self.nodes.push(right);
            if self.level == 0 || !self.held(new).is_empty() {
                self.check();
            }
            return self.write(key, value, how);
        }
        let expected = match (old, how) {
            (Some(old), WriteMode::Insert) => WriteResult::Exists(old),
            (Some(old), _) => WriteResult::Replaced(old),
            (None, WriteMode::Update) => WriteResult::Missing,
            (None, _) => WriteResult::Inserted,
        };
        assert_eq!(wrote, expected);
        if !matches!(wrote, WriteResult::Exists(_) | WriteResult::Missing) {
            self.model.insert(key, value);
        }
    }

    fn modify(&mut self, key: u64) {
        let link = self.cover(key);
        let modified = self.node(link).modify(key, |value| value ^ 1, &token());
        match self.model.get_mut(&key) {
            Some(value) => {
                assert_eq!(modified, ModifyResult::Done { old: *value, new: *value ^ 1 });
                *value ^= 1;
            }
            None => assert_eq!(modified, ModifyResult::Missing),
        }
    }

    fn remove(&mut self, key: u64) {
        let link = self.cover(key);
        let node = self.node(link);
        let stays = self.level > 0 && node.low() == key;
        let expected = self.model.get(&key).copied().filter(|_| !stays);
        let removed =
            if self.level == 0 { node.remove(key, &token()) } else { node.remove_child(key, &token()) };
        match (removed, expected) {
            (RemoveResult::Done { value, sparse }, Some(expected)) => {
                assert_eq!(value, expected);
                self.model.remove(&key);
                let left = self.node(link).len();
                assert!(!sparse || left <= L::SPARSE, "{left} entries are sparse");
                assert!(sparse || left > 0 || self.level > 0, "no entries are not sparse");
            }
            (removed, expected) => assert_eq!((removed, expected), (RemoveResult::Missing, None)),
        }
    }

    fn scan(&self, from: u64) {
        let mut link = self.cover(from);
        let mut model = self.model.range(from..);
        while link != 0 {
            let node = self.node(link);
            node.visit(from, |key, value| assert_eq!(model.next(), Some((&key, &value))));
            link = node.right();
        }
        assert_eq!(model.next(), None);
    }

    fn merge(&mut self, key: u64) {
        let link = self.cover(key);
        let left = self.node(link);
        if left.right() == 0 {
            return;
        }
        let right = self.node(left.right());
        let (count, other) = (left.len(), right.len());
        if left.absorb(link, right, &token(), &token()) {
            assert!(right.is_dead());
            assert_eq!(right.check(), []);
            for key in [0, right.low(), key, u64::MAX] {
                assert_eq!(right.find(key), FindResult::Right(link));
                assert_eq!(right.descend(key), DescendResult::Right(link));
                assert_eq!(right.write(key, 0, WriteMode::Upsert, &token()), WriteResult::Right(link));
                assert_eq!(right.modify(key, |_| 0, &token()), ModifyResult::Right(link));
                assert_eq!(right.remove(key, &token()), RemoveResult::Right(link));
                assert_eq!(right.remove_child(key, &token()), RemoveResult::Right(link));
                assert_eq!(
                    right.visit(key, |_, _| panic!("a dead node has no entries")),
                    ScanNext::Right { link, low: key }
                );
            }
        } else {
            assert!(count + other > L::CAPACITY);
        }
    }

    fn siblings(&self, key: u64) {
        let link = self.cover(key);
        let held = self.held(link);
        let siblings = self.node(link).siblings(key);
        if held.len() < 2 {
            return assert_eq!(siblings, None);
        }
        let Siblings { left, right, separator } = siblings.unwrap();
        let at = held.iter().position(|pair| pair.0 == separator).unwrap();
        assert_eq!((held[at - 1].1, held[at].1), (left, right));
        let covering = held.partition_point(|pair| pair.0 <= key) - 1;
        assert!(covering == at || covering == at - 1);
    }
}

#[derive(Clone, Debug)]
enum Op {
    Write(u64, u64, WriteMode),
    Ascend(u64, u64, u64),
    Descend(u64, u64, u64),
    Scatter(u64, u64),
    Remove(u64),
    RemoveRange(u64, usize),
    Modify(u64),
    Scan(u64),
    Merge(u64),
    Siblings(u64),
    Find(u64),
}

fn key() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..400u64,
        2 => (0..400u64).prop_map(|key| u64::MAX - key),
        1 => Just(u64::MAX),
        1 => any::<u64>(),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let how = prop_oneof![Just(WriteMode::Insert), Just(WriteMode::Upsert), Just(WriteMode::Update)];
    prop_oneof![
        8 => (key(), any::<u64>(), how).prop_map(|(key, value, how)| Op::Write(key, value, how)),
        2 => (key(), 1..5u64, 1..150u64).prop_map(|(key, step, count)| Op::Ascend(key, step, count)),
        1 => (key(), 1..5u64, 1..150u64).prop_map(|(key, step, count)| Op::Descend(key, step, count)),
        2 => (any::<u64>(), 1..150u64).prop_map(|(seed, count)| Op::Scatter(seed, count)),
        6 => key().prop_map(Op::Remove),
        2 => (key(), 1..60usize).prop_map(|(key, count)| Op::RemoveRange(key, count)),
        1 => key().prop_map(Op::Modify),
        1 => key().prop_map(Op::Scan),
        3 => key().prop_map(Op::Merge),
        2 => key().prop_map(Op::Siblings),
        2 => key().prop_map(Op::Find),
    ]
}

fn run<L: Layout<Keys = Words>>(level: u64, ops: &[Op]) {
    let mut chain = Chain::<L>::new(level);
    for op in ops {
        match *op {
            Op::Write(key, value, how) => chain.write(key, value, how),
            Op::Ascend(from, step, count) => {
                (0..count).for_each(|i| chain.write(from.saturating_add(i * step), i, WriteMode::Upsert));
            }
            Op::Descend(from, step, count) => {
                (0..count).for_each(|i| chain.write(from.saturating_sub(i * step), i, WriteMode::Insert));
            }
            Op::Scatter(seed, count) => (0..count).for_each(|i| {
                let key = (seed ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                chain.write(key, i, WriteMode::Insert);
            }),
            Op::Remove(key) => chain.remove(key),
            Op::RemoveRange(from, count) => {
                let keys: Vec<_> = chain.model.range(from..).take(count).map(|pair| *pair.0).collect();
                keys.into_iter().for_each(|key| chain.remove(key));
            }
            Op::Modify(key) => chain.modify(key),
            Op::Scan(from) => chain.scan(from),
            Op::Merge(key) => chain.merge(key),
            Op::Siblings(key) if level > 0 => chain.siblings(key),
            Op::Siblings(key) | Op::Find(key) => _ = chain.cover(key),
        }
        chain.check();
    }
    // Every key is still found, and all of them can be removed.
    let keys: Vec<_> = chain.model.keys().copied().collect();
    keys.iter().for_each(|&key| _ = chain.cover(key));
    keys.into_iter().for_each(|key| chain.remove(key));
    chain.check();
}

/// Fills a node with `count` entries and checks every lookup.
fn filled<L: Layout<Keys = Words>>(level: u64, count: usize, last: bool) {
    let mut pairs: Vec<_> = (0..count as u64).map(|i| (i * 3 + 5, i)).collect();
    let next = (!last).then_some((1000, 9));
    if last && pairs.len() < L::CAPACITY {
        pairs.push((u64::MAX, 77));
    }
    let mut node = L::new(level, 5);
    node.fill(&pairs, next);
    assert_eq!(node.check(), []);
    let mut entries = Entries::new();
    node.entries(0, &mut entries);
    assert_eq!(entries.pairs(), pairs);
    assert_eq!(node.high(), next.map(|next| next.0));
    for key in (5..1000).chain([u64::MAX - 1, u64::MAX]) {
        let at = pairs.partition_point(|pair| pair.0 <= key);
        let beyond = next.is_some_and(|next| key >= next.0);
        if level > 0 {
            assert_eq!(
                node.descend(key),
                if beyond { DescendResult::Right(9) } else { DescendResult::Child(pairs[at - 1].1) }
            );
        } else if beyond {
            assert_eq!(node.find(key), FindResult::Right(9));
        } else {
            let pair = pairs.get(at.wrapping_sub(1)).filter(|pair| pair.0 == key);
            assert_eq!(node.find(key), pair.map_or(FindResult::Missing, |pair| FindResult::Value(pair.1)));
        }
    }
}

macro_rules! layouts {
    ($($name:ident: $layout:ty,)*) => {
        $(mod $name {
            use super::*;
            type L = $layout;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(48 / PATIENCE))]

                #[test]
                fn leaves_are_maps(ops in prop::collection::vec(op(), 1..120)) {
                    run::<L>(0, &ops);
                }

                #[test]
                fn inner_nodes_are_maps(ops in prop::collection::vec(op(), 1..120)) {
                    run::<L>(1, &ops);
                }
            }

            #[test]
            fn filled_nodes_return_their_entries() {
                for count in 1..=L::CAPACITY {
                    for last in [false, true] {
                        filled::<L>(0, count, last);
                        filled::<L>(3, count, last);
                    }
                }
                filled::<L>(0, 0, true);
            }

            #[test]
            fn parts_are_within_the_node() {
                let lines = L::ALL.count();
                assert_eq!(lines * 64, size_of::<L>() + HEADER_BYTES);
                assert!(L::CAPACITY < Entries::CAPACITY);
                let mut node = L::new(0, 0);
                node.fill(&(0..L::CAPACITY as u64).map(|i| (i, i)).collect::<Vec<_>>(), None);
                for key in (0..300).chain([u64::MAX]) {
                    let part = node.locate(key);
                    assert!(part.first() + part.count() <= lines);
                }
            }

            #[test]
            fn torn_nodes_are_read_in_bounds() {
                // Arbitrary words, as a reader might see them while a writer is active.
                let mut seed = 1u64;
                for _ in 0..2000 {
                    let word = || {
                        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                        match seed >> 61 {
                            0 => 0,
                            1 => u64::MAX,
                            _ => seed >> (seed >> 58),
                        }
                    };
                    let words: [u64; size_of::<L>() / 8] =
                        std::array::from_fn({ let mut word = word; move |_| word() });
                    // SAFETY: a node is an array of words of the same size, for which all bit
                    // patterns are valid.
                    let node: L = unsafe { std::mem::transmute_copy(&words) };
                    for key in [0, 1, words[3], words[20], words[40], u64::MAX - 1, u64::MAX] {
                        node.find(key);
                        node.descend(key);
                        node.siblings(key);
                        let part = node.locate(key);
                        assert!(part.first() + part.count() <= L::ALL.count());
                        let mut count = 0;
                        node.visit(key, |_, _| count += 1);
                        assert!(count <= Entries::CAPACITY);
                    }
                    (node.len(), node.is_empty(), node.level(), node.low(), node.high(), node.check());
                }
            }
        })*
    };
}

layouts! {
    hinted_512: HintedNode<{ words(512) }>,
    hinted_1024: HintedNode<{ words(1024) }>,
    hinted_2048: HintedNode<{ words(2048) }>,
    hinted_4096: HintedNode<{ words(4096) }>,
    sorted_512: SortedNode<{ words(512) }>,
    sorted_1024: SortedNode<{ words(1024) }>,
    sorted_2048: SortedNode<{ words(2048) }>,
    sorted_4096: SortedNode<{ words(4096) }>,
}

/// Hinted nodes have the layout that their documentation shows.
#[test]
fn hinted_nodes_have_the_documented_layout() {
    assert_eq!(HintedNode::<62>::CAPACITY, 24);
    assert_eq!(HintedNode::<126>::CAPACITY, 56);
    assert_eq!(HintedNode::<254>::CAPACITY, 112);
    assert_eq!(HintedNode::<510>::CAPACITY, 224);
    assert_eq!(HintedNode::<126>::FIRST, Part::lines(0, 1));
    let mut node = HintedNode::<126>::new(0, 0);
    node.fill(&(0..56).map(|i| (i, i)).collect::<Vec<_>>(), None);
    assert_eq!(node.locate(0), Part::lines(14, 2));
    assert_eq!(node.locate(47), Part::lines(4, 2));
    assert_eq!(node.locate(48), Part::lines(1, 3));
}

/// Ascending keys leave full nodes behind.
#[test]
fn ascending_keys_fill_nodes() {
    let mut chain = Chain::<HintedNode<126>>::new(0);
    (0..1000).for_each(|key| chain.write(key, key, WriteMode::Insert));
    assert_eq!(chain.nodes.len(), 1000usize.div_ceil(56));
}
