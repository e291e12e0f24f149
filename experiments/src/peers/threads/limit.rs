//! The ceiling: lookups interleaved by hand.
//!
//! Keys pass through a pipeline, a batch at a time. Its first stage takes a batch down through the upper
//! levels, which the caches hold. Every level below has two stages: one looks at the first lines, which a
//! stage before has asked for, and asks for those that hold the keys, and one looks these up and asks for the
//! first lines of the children. (Where the first lines are all, the first of the two is left out.) In between,
//! all other stages work on other batches, which is when the lines arrive. Nothing is checked on the way: no
//! versions, no locks.

use super::fetch;
use xtasking_index::node::{Down, Found, Layout};

/// A tree made of nodes, for code that reads them by itself.
///
/// # Safety
///
/// As long as nobody changes the tree, `root` returns the link of a node that covers all keys from 0 on,
/// perhaps with neighbours to its right, and its level; all links in nodes of the tree are to nodes of the
/// tree, those to children to such of the next level below; and `node` returns the node behind a link, in its
/// cell.
pub unsafe trait Nodes {
    /// The layout of the nodes.
    type Node: Layout;

    /// Link and level of the root.
    fn root(&self) -> (u64, u64);

    /// The node behind a link.
    ///
    /// # Safety
    ///
    /// The link must have been found in the tree, in a state in which nobody was changing it.
    unsafe fn node(&self, link: u64) -> &Self::Node;
}

/// How lookups are interleaved.
#[derive(Clone, Copy, Debug)]
pub struct Interleaving {
    /// How many keys move together, up to [`MOST`](Self::MOST).
    pub batch: usize,
    /// How many levels, from the root on, are expected to be in the caches and are not fetched ahead.
    pub cached: u64,
}

impl Interleaving {
    /// The most keys that move together.
    pub const MOST: usize = 32;
}

impl Default for Interleaving {
    fn default() -> Self {
        Self { batch: 8, cached: 2 }
    }
}

/// More levels than any tree has.
const LEVELS: usize = 16;
/// The most stages of a pipeline, and hence the batches in it, rounded up to a power of two.
const STAGES: usize = 2 * LEVELS;

/// Looks up all `keys` in order; `found` receives their values.
///
/// # Panics
///
/// If `found` is shorter than `keys`.
///
/// # Safety
///
/// Nobody may change the tree meanwhile.
pub unsafe fn get_all<T: Nodes>(tree: &T, keys: &[u64], found: &mut [Option<u64>], how: Interleaving) {
    let found = &mut found[..keys.len()];
    let batch = how.batch.clamp(1, Interleaving::MOST);
    let (root, top) = tree.root();
    // SAFETY: the root's link is the tree's.
    let root = unsafe { tree.node(root) };
    let fetched = (top + 1).saturating_sub(how.cached).clamp(1, LEVELS as u64 - 1);
    let per_level = if T::Node::FIRST.count() == T::Node::ALL.count() { 1 } else { 2 };
    let stages = 1 + per_level * fetched as usize;
    let mut pipeline = [[root; Interleaving::MOST]; STAGES];
    let batches = keys.len().div_ceil(batch);
    for tick in 0..batches + stages - 1 {
        // A batch is in every stage. The first one enters while later ones are not there yet and so on.
        for stage in 0..stages {
            let number = tick.wrapping_sub(stage);
            if number >= batches {
                continue;
            }
            let range = number * batch..keys.len().min((number + 1) * batch);
            let (found, keys) = (&mut found[range.clone()], &keys[range]);
            let nodes = &mut pipeline[number % STAGES][..keys.len()];
            // The stages after the first are about the highest level that is fetched, and so on.
            let level = fetched - stage.div_ceil(per_level) as u64;
            // SAFETY: the caller keeps the tree as it is, so what is found in nodes of the tree are its
            // links.
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

/// Takes every key one level down.
///
/// # Safety
///
/// The tree must be quiescent, and the nodes inner ones of it.
#[inline(always)]
unsafe fn descend<'a, T: Nodes>(tree: &'a T, keys: &[u64], nodes: &mut [&'a T::Node]) {
    for (&key, node) in keys.iter().zip(nodes) {
        *node = loop {
            match node.descend(key) {
                // SAFETY: the link comes from a node of the tree.
                Down::Child(child) => break unsafe { tree.node(child) },
                // SAFETY: as above.
                Down::Right(right) => *node = unsafe { tree.node(right) },
            }
        };
    }
}

/// Looks a key up in a leaf.
///
/// # Safety
///
/// The tree must be quiescent, and the node a leaf of it.
#[inline(always)]
unsafe fn find<'a, T: Nodes>(tree: &'a T, key: u64, mut node: &'a T::Node) -> Option<u64> {
    loop {
        match node.find(key) {
            Found::Value(value) => return Some(value),
            Found::Missing => return None,
            // SAFETY: the link comes from a node of the tree.
            Found::Right(right) => node = unsafe { tree.node(right) },
        }
    }
}
