//! The keys of one database in one shard, in the order of their bytes: a B-tree that counts.
//!
//! There is one in each shard, and a range is merged from all of them, in place of one tree for all
//! keys beside the shards. A key is added and removed by the task that holds its shard anyway, so
//! the order needs no synchronization and is never behind or ahead of the keys: a range, whose task
//! holds all shards, is of one moment. A tree of its own would be entered by each insertion of each
//! worker, and a range could not be of one moment with the values beside it. The price is a search
//! in each shard for each range, however short.
//!
//! An order shares the blocks of the entries for their keys, and has no copies of them. An inner
//! node has between two children a separator, the shortest bytes that tell their keys apart, and
//! for each child its number of keys; so a search looks at few blocks, and a rank at few nodes.

use super::block::SharedKey;
use super::leaf::{KeyLeaf, MAX_WIDTH, bytes_after, common_len};
use smallvec::SmallVec;
use std::{iter, mem};

/// A node with fewer keys or children merges with a neighbour, if both have no more than
/// [`MERGED_WIDTH`]. Then a quarter is free, so that insertions do not split it again soon.
const MIN_WIDTH: usize = MAX_WIDTH / 2;
const MERGED_WIDTH: usize = MAX_WIDTH - MAX_WIDTH / 4;

/// The bytes that an order takes for a key: the mean of keys that come in any order, measured.
pub(super) const BYTES_PER_KEY: usize = 20;

/// A place between keys: ranges begin and end there.
#[derive(Clone, Copy, Debug)]
pub enum KeyCut<'a> {
    /// Before all keys.
    Start,
    /// Before this key, whether or not it is there.
    Before(&'a [u8]),
    /// Behind it.
    After(&'a [u8]),
    /// Behind all keys.
    End,
}

/// The keys of a table in ascending order.
#[derive(Debug, Default)]
pub(super) struct KeyOrder {
    root: OrderNode,
    len: usize,
}

#[derive(Debug)]
enum OrderNode {
    Leaf(KeyLeaf),
    Inner(Vec<OrderBranch>),
}

/// The shortest bytes that tell the keys of two branches apart.
type Separator = SmallVec<[u8; 24]>;

#[derive(Debug)]
struct OrderBranch {
    /// No key here is before it, and all keys of the branch to the left are. That of the first
    /// branch is not used.
    separator: Separator,
    /// The number of keys.
    len: usize,
    node: Box<OrderNode>,
}

impl KeyCut<'_> {
    /// Returns what is compared to compare two cuts.
    fn parts(&self) -> (u8, &[u8], bool) {
        match self {
            Self::Start => (0, b"", false),
            Self::Before(key) => (1, key, false),
            Self::After(key) => (1, key, true),
            Self::End => (2, b"", false),
        }
    }

    /// Returns true if no key is between the start and this.
    pub fn is_before(&self, other: &KeyCut<'_>) -> bool {
        self.parts() < other.parts()
    }

    /// Returns true if a key is before it.
    pub fn is_after(&self, key: &[u8]) -> bool {
        KeyCut::Before(key).is_before(self)
    }
}

impl KeyOrder {
    /// Makes the order of keys, no two of which are the same: level by level, so no key is searched
    /// for. The nodes of a level are filled alike.
    pub(super) fn of(keys: Vec<SharedKey>) -> Self {
        let (len, mut keys) = (keys.len(), sort(keys).into_iter());
        let is_one_of_many = len > MAX_WIDTH;
        let leaf = |width| KeyLeaf::of_sorted(keys.by_ref().take(width), is_one_of_many);
        let leaves: Vec<_> = widths(len).map(leaf).collect();
        let between = leaves.windows(2).map(|pair| separator(&pair[0], &pair[1]));
        let separators: Vec<_> = iter::once(SmallVec::new()).chain(between).collect();
        let branch = |(separator, leaf): (_, KeyLeaf)| {
            let len = leaf.keys().len();
            OrderBranch { separator, len, node: Box::new(OrderNode::Leaf(leaf)) }
        };
        let mut level: Vec<_> = separators.into_iter().zip(leaves).map(branch).collect();
        while level.len() > MAX_WIDTH {
            let count = level.len();
            let mut branches = level.into_iter();
            let node = |width| OrderBranch::of_branches(branches.by_ref().take(width).collect());
            level = widths(count).map(node).collect();
        }
        let root = match level.len() {
            0 | 1 => level.pop().map(|only| *only.node).unwrap_or_default(),
            _ => OrderNode::Inner(level),
        };
        Self { root, len }
    }

    /// Inserts a key that is not there.
    pub(super) fn insert(&mut self, key: SharedKey) {
        self.len += 1;
        if let Some(right) = self.root.insert(key) {
            let left = Box::new(mem::take(&mut self.root));
            let left = OrderBranch { separator: SmallVec::new(), len: self.len - right.len, node: left };
            self.root = OrderNode::Inner(vec![left, right]);
        }
    }

    /// Takes another block for the same key.
    pub(super) fn replace(&mut self, key: SharedKey) {
        let mut node = &mut self.root;
        while let OrderNode::Inner(branches) = node {
            let at = branch_of(branches, key.get());
            node = &mut branches[at].node;
        }
        if let OrderNode::Leaf(leaf) = node {
            let is_there = leaf.replace(key);
            debug_assert!(is_there, "the order has all keys of the table");
        }
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, key: &[u8]) {
        let removed = self.root.remove(key);
        debug_assert!(removed.is_some(), "the order has all keys of the table");
        self.len -= usize::from(removed.is_some());
        while let OrderNode::Inner(branches) = &mut self.root
            && branches.len() == 1
            && let Some(only) = branches.pop()
        {
            self.root = *only.node;
        }
    }

    /// Returns the number of keys before a cut.
    pub(super) fn rank(&self, cut: KeyCut<'_>) -> usize {
        let (key, includes_key) = match cut {
            KeyCut::Start => return 0,
            KeyCut::End => return self.len,
            KeyCut::Before(key) => (key, false),
            KeyCut::After(key) => (key, true),
        };
        let (mut node, mut rank) = (&self.root, 0);
        loop {
            match node {
                OrderNode::Leaf(leaf) => return rank + leaf.count_before(key, includes_key),
                OrderNode::Inner(branches) => {
                    let at = branch_of(branches, key);
                    rank += branches[..at].iter().map(|branch| branch.len).sum::<usize>();
                    node = &branches[at].node;
                }
            }
        }
    }

    /// Iterates over the keys between two cuts.
    pub(super) fn between(&self, from: KeyCut<'_>, to: KeyCut<'_>, is_reverse: bool) -> KeyRun<'_> {
        let (next, end) = (self.rank(from), self.rank(to));
        KeyRun { order: self, next, end, leaf: &[], is_reverse }
    }

    /// Takes the keys, in no order that matters. Nodes are freed on the way.
    pub(super) fn into_keys(self) -> impl Iterator<Item = SharedKey> {
        let mut nodes = vec![self.root];
        let leaves = iter::from_fn(move || {
            loop {
                match nodes.pop()? {
                    OrderNode::Leaf(leaf) => return Some(leaf.into_keys()),
                    OrderNode::Inner(branches) => {
                        nodes.extend(branches.into_iter().map(|branch| *branch.node));
                    }
                }
            }
        });
        leaves.flatten()
    }

    /// Returns the leaf that has the key of a rank, and its position there.
    fn leaf_of(&self, mut rank: usize) -> (&[SharedKey], usize) {
        let mut node = &self.root;
        loop {
            match node {
                OrderNode::Leaf(leaf) => return (leaf.keys(), rank),
                OrderNode::Inner(branches) => {
                    let mut rest = branches.iter();
                    let branch = rest.find(|branch| {
                        let is_here = rank < branch.len;
                        rank -= if is_here { 0 } else { branch.len };
                        is_here
                    });
                    node = &branch.expect("the rank is below the number of keys").node;
                }
            }
        }
    }
}

impl Default for OrderNode {
    fn default() -> Self {
        Self::Leaf(KeyLeaf::default())
    }
}

impl OrderNode {
    /// Returns the number of keys or branches.
    fn width(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.keys().len(),
            Self::Inner(branches) => branches.len(),
        }
    }

    /// Inserts a key. If the node is too wide then, it is cut in two: returns the second one.
    fn insert(&mut self, key: SharedKey) -> Option<OrderBranch> {
        match self {
            Self::Leaf(leaf) => {
                let at = leaf.insert(key);
                let width = leaf.keys().len();
                // Keys that come in ascending order fill the leaves.
                let middle = if at + 1 == width { at } else { width / 2 };
                (width > MAX_WIDTH).then(|| OrderBranch::new(leaf, middle))
            }
            Self::Inner(branches) => {
                let at = branch_of(branches, key.get());
                let branch = &mut branches[at];
                branch.len += 1;
                let right = branch.node.insert(key)?;
                branch.len -= right.len;
                branches.insert(at + 1, right);
                (branches.len() > MAX_WIDTH)
                    .then(|| OrderBranch::of_branches(branches.split_off(MAX_WIDTH / 2)))
            }
        }
    }

    fn remove(&mut self, key: &[u8]) -> Option<SharedKey> {
        match self {
            Self::Leaf(leaf) => leaf.remove(key),
            Self::Inner(branches) => {
                let at = branch_of(branches, key);
                let branch = &mut branches[at];
                let removed = branch.node.remove(key)?;
                branch.len -= 1;
                if branch.node.width() < MIN_WIDTH {
                    merge(branches, at);
                }
                Some(removed)
            }
        }
    }
}

impl OrderBranch {
    /// Cuts off the keys of a leaf from a position on.
    fn new(leaf: &mut KeyLeaf, at: usize) -> Self {
        let right = leaf.split_off(at);
        let separator = separator(leaf, &right);
        Self { separator, len: right.keys().len(), node: Box::new(OrderNode::Leaf(right)) }
    }

    /// Makes an inner node of branches, which come after others.
    fn of_branches(mut branches: Vec<Self>) -> Self {
        let separator = mem::take(&mut branches[0].separator);
        let len = branches.iter().map(|branch| branch.len).sum();
        Self { separator, len, node: Box::new(OrderNode::Inner(branches)) }
    }
}

/// Returns the shortest bytes that tell the keys of a leaf from those of the one before it.
fn separator(left: &KeyLeaf, right: &KeyLeaf) -> Separator {
    let (last, first) = (left.keys()[left.keys().len() - 1].get(), right.keys()[0].get());
    first[..=common_len(last, first)].into()
}

/// Returns the widths of the nodes that this many keys or branches fill.
fn widths(count: usize) -> impl Iterator<Item = usize> {
    let nodes = count.div_ceil(MAX_WIDTH);
    (0..nodes).map(move |node| (node + 1) * count / nodes - node * count / nodes)
}

/// Sorts keys. Most are told apart by the eight bytes after those that all have in common, which
/// lie together, and not by their blocks.
fn sort(keys: Vec<SharedKey>) -> Vec<SharedKey> {
    let Some(first) = keys.first() else { return keys };
    let common = keys.iter().map(|key| common_len(first.get(), key.get())).min();
    let skip = common.unwrap_or(0);
    let head = |key: &SharedKey| u64::from_be_bytes(bytes_after(key.get(), skip));
    let mut headed: Vec<_> = keys.into_iter().map(|key| (head(&key), key)).collect();
    headed.sort_unstable_by(|(one_head, one), (other_head, other)| {
        one_head.cmp(other_head).then_with(|| one.get().cmp(other.get()))
    });
    headed.into_iter().map(|(_, key)| key).collect()
}

/// Returns the branch in which a key is, or would be.
fn branch_of(branches: &[OrderBranch], key: &[u8]) -> usize {
    branches[1..].partition_point(|branch| *branch.separator <= *key)
}

/// Merges a narrow branch with the one after or before it, if both fit into one with some room.
fn merge(branches: &mut Vec<OrderBranch>, at: usize) {
    let fits = |left: &usize| {
        let pair = branches.get(*left..*left + 2);
        pair.is_some_and(|pair| pair[0].node.width() + pair[1].node.width() <= MERGED_WIDTH)
    };
    let Some(left) = [Some(at), at.checked_sub(1)].into_iter().flatten().find(fits) else { return };
    let right = branches.remove(left + 1);
    let branch = &mut branches[left];
    branch.len += right.len;
    match (&mut *branch.node, *right.node) {
        (OrderNode::Leaf(keys), OrderNode::Leaf(others)) => keys.append(others),
        (OrderNode::Inner(own), OrderNode::Inner(mut others)) => {
            others[0].separator = right.separator;
            own.append(&mut others);
        }
        _ => unreachable!("leaves are of one depth"),
    }
}

/// Iterates over the keys between two cuts.
#[derive(Clone, Debug)]
pub(super) struct KeyRun<'o> {
    order: &'o KeyOrder,
    /// The ranks for which no leaf was fetched.
    next: usize,
    end: usize,
    /// What is left of the leaf that was.
    leaf: &'o [SharedKey],
    is_reverse: bool,
}

impl KeyRun<'_> {
    /// Fetches the next leaf.
    fn fetch(&mut self) {
        if self.is_reverse {
            let (leaf, at) = self.order.leaf_of(self.end - 1);
            let count = (at + 1).min(self.end - self.next);
            self.leaf = &leaf[at + 1 - count..=at];
            self.end -= count;
        } else {
            let (leaf, at) = self.order.leaf_of(self.next);
            let count = (leaf.len() - at).min(self.end - self.next);
            self.leaf = &leaf[at..at + count];
            self.next += count;
        }
    }
}

impl<'o> Iterator for KeyRun<'o> {
    type Item = &'o [u8];

    fn next(&mut self) -> Option<&'o [u8]> {
        if self.leaf.is_empty() && self.next < self.end {
            self.fetch();
        }
        let parts = if self.is_reverse { self.leaf.split_last() } else { self.leaf.split_first() };
        let (key, rest) = parts?;
        self.leaf = rest;
        Some(key.get())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;
    use std::collections::BTreeMap;
    use std::ops::Bound;
    use xtasking_testing::Random;

    /// Keys of few different bytes, so that many begin alike and some are parts of others.
    fn key(random: &mut Random) -> Vec<u8> {
        let prefix: &[u8] =
            [&b"a-prefix-that-is-longer-than-a-separator:"[..], b"b", b""][random.below(3) as usize];
        let len = random.below(8);
        let bytes = (0..len).map(|_| [0, b'a', b'b', 0xff][random.below(4) as usize]);
        prefix.iter().copied().chain(bytes).collect()
    }

    fn cut<'k>(random: &mut Random, key: &'k [u8]) -> KeyCut<'k> {
        match random.below(8) {
            0 => KeyCut::Start,
            1 => KeyCut::End,
            2..5 => KeyCut::Before(key),
            _ => KeyCut::After(key),
        }
    }

    fn bounds<'k>(from: KeyCut<'k>, to: KeyCut<'k>) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
        let from = match from {
            KeyCut::Before(key) => Bound::Included(key),
            KeyCut::After(key) => Bound::Excluded(key),
            KeyCut::Start | KeyCut::End => Bound::Unbounded,
        };
        let to = match to {
            KeyCut::Before(key) => Bound::Excluded(key),
            KeyCut::After(key) => Bound::Included(key),
            KeyCut::Start | KeyCut::End => Bound::Unbounded,
        };
        (from, to)
    }

    /// Returns the depth, and checks the numbers of keys.
    fn check(node: &OrderNode, len: usize) -> usize {
        match node {
            OrderNode::Leaf(leaf) => {
                assert_eq!(leaf.keys().len(), len);
                1
            }
            OrderNode::Inner(branches) => {
                let depths: Vec<_> = branches.iter().map(|branch| check(&branch.node, branch.len)).collect();
                assert!(depths.iter().all(|depth| *depth == depths[0]));
                assert_eq!(branches.iter().map(|branch| branch.len).sum::<usize>(), len);
                depths[0] + 1
            }
        }
    }

    fn leaves(node: &OrderNode) -> usize {
        match node {
            OrderNode::Leaf(_) => 1,
            OrderNode::Inner(branches) => branches.iter().map(|branch| leaves(&branch.node)).sum(),
        }
    }

    #[test]
    fn an_order_is_that_of_a_model() {
        let mut deepest = 0;
        for seed in 0..12 {
            let mut random = Random(seed);
            let (mut order, mut model) = (KeyOrder::default(), BTreeMap::<Vec<u8>, Entry>::new());
            for step in 0..30_000 {
                // First it grows, then it shrinks.
                let grows = random.below(10) < if step < 20_000 { 7 } else { 2 };
                let key = key(&mut random);
                match model.get_mut(&key) {
                    None if grows => {
                        let entry = Entry::of_text(&key, b"value", None, 0);
                        order.insert(entry.share_key().unwrap());
                        model.insert(key, entry);
                    }
                    Some(entry) if grows => {
                        entry.set_text(b"a value of another length");
                        entry.share_key().into_iter().for_each(|key| order.replace(key));
                    }
                    Some(_) => {
                        order.remove(&key);
                        model.remove(&key);
                    }
                    None => {}
                }
                assert_eq!(order.len, model.len());
                if step % 4000 == 1000 {
                    // From here on it is one that was made of all keys at once.
                    order = KeyOrder::of(mem::take(&mut order).into_keys().collect());
                }
                if step % 500 != 0 {
                    continue;
                }
                deepest = deepest.max(check(&order.root, order.len));
                let (one, two) = (self::key(&mut random), self::key(&mut random));
                let (from, to) = (cut(&mut random, &one), cut(&mut random, &two));
                let is_valid = from.is_before(&to);
                let range = is_valid.then(|| model.range::<[u8], _>(bounds(from, to)));
                let expected: Vec<&[u8]> = range.into_iter().flatten().map(|(key, _)| &key[..]).collect();
                let found: Vec<_> = order.between(from, to, false).collect();
                assert_eq!(found, expected, "seed {seed}, step {step}, {from:?}..{to:?}");
                let mut reverse: Vec<_> = order.between(from, to, true).collect();
                reverse.reverse();
                assert_eq!(reverse, expected);
                assert_eq!(order.rank(to).saturating_sub(order.rank(from)), expected.len());
                let is_in = |key: &&&[u8]| !from.is_after(key) && to.is_after(key);
                let all: Vec<_> = order.between(KeyCut::Start, KeyCut::End, false).collect();
                assert_eq!(all.iter().filter(is_in).count(), expected.len());
            }
        }
        assert!(deepest >= 3, "{deepest}");
    }

    fn all_of(order: &KeyOrder) -> Vec<Vec<u8>> {
        order.between(KeyCut::Start, KeyCut::End, false).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn an_order_that_is_made_at_once_is_as_one_that_is_made_key_by_key() {
        let mut random = Random(3);
        for count in [0, 1, 2, 62, 63, 64, 65, 127, 1000, 63 * 63, 63 * 63 + 1, 20_000] {
            // Some are told apart by their ends only, and some are the beginning of others.
            let name =
                |number: usize| format!("a-prefix:{}{}", number / 3, ["", ":end", ":end:"][number % 3]);
            let mut entries: Vec<_> =
                (0..count).map(|number| Entry::of_text(name(number).as_bytes(), b"", None, 0)).collect();
            random.shuffle(&mut entries);
            let keys = || entries.iter().filter_map(Entry::share_key);
            let mut one_by_one = KeyOrder::default();
            keys().for_each(|key| one_by_one.insert(key));
            let (expected, depth) = (all_of(&one_by_one), check(&one_by_one.root, count));
            drop(one_by_one);
            let at_once = KeyOrder::of(keys().collect());
            assert_eq!(all_of(&at_once), expected);
            assert!(check(&at_once.root, count) <= depth, "{count} keys");
            assert_eq!(leaves(&at_once.root), count.div_ceil(MAX_WIDTH).max(1));
            for (rank, key) in expected.iter().enumerate() {
                assert_eq!(at_once.rank(KeyCut::Before(key)), rank);
                assert_eq!(at_once.rank(KeyCut::After(key)), rank + 1);
            }
        }
    }

    #[test]
    fn keys_in_ascending_order_fill_the_leaves() {
        let entries: Vec<_> = (0..10_000)
            .map(|number| Entry::of_text(format!("{number:06}").as_bytes(), b"", None, 0))
            .collect();
        let mut order = KeyOrder::default();
        entries.iter().filter_map(Entry::share_key).for_each(|key| order.insert(key));
        assert_eq!(leaves(&order.root), 10_000_usize.div_ceil(MAX_WIDTH));
    }

    #[test]
    fn leaves_merge_when_keys_are_gone() {
        let mut random = Random(7);
        let mut entries: Vec<_> = (0..20_000)
            .map(|number| Entry::of_text(format!("{number:06}").as_bytes(), b"", None, 0))
            .collect();
        let mut order = KeyOrder::default();
        entries.iter().filter_map(Entry::share_key).for_each(|key| order.insert(key));
        while entries.len() > 5000 {
            let at = random.below(entries.len() as u64) as usize;
            order.remove(entries.swap_remove(at).key());
        }
        let (leaves, fewest) = (leaves(&order.root), 5000_usize.div_ceil(MAX_WIDTH));
        assert!(leaves < 2 * fewest, "{leaves} leaves, {fewest} would do");
    }
}
