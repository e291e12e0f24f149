//! Measures the upper bound: lookups interleaved by hand.
//!
//! Keys pass through a pipeline in batches. Its first stage descends the upper levels, which the
//! caches hold. Each level below has two stages. The first reads the first lines of the nodes,
//! which an earlier stage prefetched, and prefetches the lines that hold the keys. The second
//! searches these, and prefetches the first lines of the children. (Where a node has no more than
//! the first lines, the first of the two is left out.) In between, the other stages work on other
//! batches, while the lines arrive. Nothing is checked: no versions, no locks.

use super::fetch;
use xtasking_index::Words;
use xtasking_index::node::{DescendResult, FindResult, Layout};

/// A tree whose nodes other code reads by itself.
///
/// # Safety
///
/// While the tree does not change: `root` returns the link of a node that covers all keys from 0
/// on, perhaps with neighbours to its right, and its level; all links in nodes of the tree lead to
/// nodes of the tree, those to children to the next level below; and `node` returns the node behind
/// a link, in its cell.
pub unsafe trait Nodes {
    /// The layout of the nodes.
    type Node: Layout<Keys = Words>;

    /// Returns the link and the level of the root.
    fn root(&self) -> (u64, u64);

    /// Returns the node behind a link.
    ///
    /// # Safety
    ///
    /// The link must have been read from the tree while no thread was changing it.
    unsafe fn node(&self, link: u64) -> &Self::Node;
}

/// How lookups are interleaved.
#[derive(Clone, Copy, Debug)]
pub struct Interleaving {
    /// Keys of a batch, up to [`MAX_BATCH`](Self::MAX_BATCH).
    pub batch: usize,
    /// Levels from the root on that are expected in the caches, and are not prefetched.
    pub cached: u64,
}

impl Interleaving {
    /// Maximal number of keys of a batch.
    pub const MAX_BATCH: usize = 32;
    /// Sizes of batches, one of which is about the best. In a tree that is much larger than the
    /// caches it is mostly the smallest, in a tree that fits into them the largest.
    pub const BATCHES: [usize; 3] = [4, 8, 16];
    /// Numbers of cached levels, one of which is about the best.
    pub const CACHED: [u64; 2] = [2, 3];

    /// Returns all ways with these sizes of batches.
    pub fn ways(batches: &[usize]) -> impl Iterator<Item = Self> {
        batches.iter().flat_map(|&batch| Self::CACHED.map(|cached| Self { batch, cached }))
    }
}

/// An upper bound for the levels of a tree.
const LEVELS: usize = 16;
/// An upper bound for the stages of the pipeline, and so for the batches in it; a power of two.
const STAGES: usize = 2 * LEVELS;

/// Looks up all `keys`, and writes their values to `found` in the same order.
///
/// # Panics
///
/// If `found` is shorter than `keys`.
///
/// # Safety
///
/// No thread may change the tree during the call.
pub unsafe fn get_all<T: Nodes>(tree: &T, keys: &[u64], found: &mut [Option<u64>], how: Interleaving) {
    let found = &mut found[..keys.len()];
    let batch = how.batch.clamp(1, Interleaving::MAX_BATCH);
    let (root, top) = tree.root();
    // SAFETY: the link comes from `root`, and the caller keeps the tree unchanged.
    let root = unsafe { tree.node(root) };
    let fetched = (top + 1).saturating_sub(how.cached).clamp(1, LEVELS as u64 - 1);
    let per_level = if T::Node::FIRST.count() == T::Node::ALL.count() { 1 } else { 2 };
    let stages = 1 + per_level * fetched as usize;
    let mut pipeline = [[root; Interleaving::MAX_BATCH]; STAGES];
    let batches = keys.len().div_ceil(batch);
    for tick in 0..batches + stages - 1 {
        // Each stage works on one batch; at the begin and at the end some stages have none.
        for stage in 0..stages {
            let number = tick.wrapping_sub(stage);
            if number >= batches {
                continue;
            }
            let range = number * batch..keys.len().min((number + 1) * batch);
            let (found, keys) = (&mut found[range.clone()], &keys[range]);
            let nodes = &mut pipeline[number % STAGES][..keys.len()];
            // The level below the upper ones decreases with the stages.
            let level = fetched - stage.div_ceil(per_level) as u64;
            // SAFETY: the caller keeps the tree unchanged, so links in its nodes are valid.
            unsafe {
                if stage == 0 {
                    nodes.fill(root);
                    for _ in fetched..=top {
                        descend(tree, keys, nodes);
                    }
                    nodes.iter().for_each(|&node| fetch(node, T::Node::FIRST));
                } else if stage % per_level != 0 {
                    keys.iter().zip(nodes).for_each(|(&key, node)| fetch(*node, node.locate(key)));
                } else if level > 0 {
                    descend(tree, keys, nodes);
                    nodes.iter().for_each(|&node| fetch(node, T::Node::FIRST));
                } else {
                    keys.iter().zip(nodes).zip(found).for_each(|((&key, node), found)| {
                        *found = find(tree, key, node);
                    });
                }
            }
        }
    }
}

/// Looks up one key. Nothing is prefetched: the processor reads the lines of one node together.
///
/// # Safety
///
/// No thread may change the tree during the call.
#[inline]
pub unsafe fn get<T: Nodes>(tree: &T, key: u64) -> Option<u64> {
    let (root, top) = tree.root();
    // SAFETY: the link comes from `root`, and the caller keeps the tree unchanged, here and below.
    let mut node = unsafe { tree.node(root) };
    for _ in 0..top {
        // SAFETY: a node above the leaves is an inner node.
        node = unsafe { child(tree, key, node) };
    }
    // SAFETY: `top` levels below the root there are leaves.
    unsafe { find(tree, key, node) }
}

/// Descends one level with every key.
///
/// # Safety
///
/// No thread changes the tree, and `nodes` are inner nodes of it.
#[inline(always)]
unsafe fn descend<'a, T: Nodes>(tree: &'a T, keys: &[u64], nodes: &mut [&'a T::Node]) {
    for (&key, node) in keys.iter().zip(nodes) {
        // SAFETY: forwarded.
        *node = unsafe { child(tree, key, *node) };
    }
}

/// Returns the child of an inner node, or of a neighbour to its right, that covers a key.
///
/// # Safety
///
/// No thread changes the tree, and `node` is an inner node of it.
#[inline(always)]
unsafe fn child<'a, T: Nodes>(tree: &'a T, key: u64, mut node: &'a T::Node) -> &'a T::Node {
    loop {
        match node.descend(key) {
            // SAFETY: the link comes from a node of the tree, which the caller keeps unchanged.
            DescendResult::Child(child) => return unsafe { tree.node(child) },
            // SAFETY: the link comes from a node of the tree, which the caller keeps unchanged.
            DescendResult::Right(right) => node = unsafe { tree.node(right) },
        }
    }
}

/// Looks up a key in a leaf.
///
/// # Safety
///
/// No thread changes the tree, and `node` is a leaf of it.
#[inline(always)]
unsafe fn find<'a, T: Nodes>(tree: &'a T, key: u64, mut node: &'a T::Node) -> Option<u64> {
    loop {
        match node.find(key) {
            FindResult::Value(value) => return Some(value),
            FindResult::Missing => return None,
            // SAFETY: the link comes from a node of the tree, which the caller keeps unchanged.
            FindResult::Right(right) => node = unsafe { tree.node(right) },
        }
    }
}
