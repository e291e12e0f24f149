//! The nodes so far, their parents, and the clients that insert.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use xtasking_harness::failure::Wrong;
use xtasking_harness::random::Random;

/// All nodes by their numbers. Each is inserted by one client.
pub(super) struct Growth {
    /// The handle of each node plus one; 0 if it has not been inserted.
    handles: Box<[AtomicU64]>,
    parents: Box<[AtomicU32]>,
    seed: u64,
}

/// A client, which inserts one node of every `step`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inserter {
    next: u32,
    step: u32,
}

/// Separates these random numbers from other uses of the seed.
const PATH: u64 = 0x9204;
/// Separates the pairs from the parents.
const PAIRS: u64 = u64::MAX;
/// A node that is not there.
const NONE: u32 = u32::MAX;

impl Growth {
    /// Creates a growth to a number of nodes, the root included.
    pub fn new(nodes: u32, seed: u64) -> Self {
        let handles = (0..nodes).map(|_| AtomicU64::new(0)).collect();
        Self { handles, parents: (0..nodes).map(|_| AtomicU32::new(NONE)).collect(), seed }
    }

    /// Returns the number of nodes in the end.
    pub fn len(&self) -> u32 {
        self.handles.len() as u32
    }

    /// Returns clients that insert all nodes but the root.
    pub fn inserters(&self, count: u32) -> impl Iterator<Item = Inserter> {
        (1..=count).map(move |next| Inserter { next, step: count })
    }

    /// Sets the handle of the root.
    pub fn begin(&self, root: u64) {
        self.handles[0].store(root + 1, Release);
    }

    /// Returns the next node of a client, and its parent: any node with a smaller number that is
    /// there, each as likely. `None` if the client has none left.
    pub fn next(&self, inserter: &mut Inserter) -> Option<(u32, u32)> {
        let node = inserter.next;
        if node >= self.len() {
            return None;
        }
        inserter.next += inserter.step;
        let mut parent = node;
        // Another client may be late with a node: then the node's own choice is taken.
        while parent == node || self.handles[parent as usize].load(Relaxed) == 0 {
            parent = Random::new(self.seed, &[PATH, parent.into()]).below(parent.into()) as u32;
        }
        Some((node, parent))
    }

    /// Returns the handle of a node that is there.
    pub fn handle(&self, node: u32) -> u64 {
        // Acquire pairs with the Release of `inserted`: what the inserting thread did is visible.
        self.handles[node as usize].load(Acquire) - 1
    }

    /// Notes that a node has been inserted below its parent.
    pub fn inserted(&self, (node, parent): (u32, u32), handle: u64) {
        self.parents[node as usize].store(parent, Relaxed);
        self.handles[node as usize].store(handle + 1, Release);
    }

    fn parent(&self, node: u32) -> u32 {
        self.parents[node as usize].load(Relaxed)
    }

    /// Returns true if `above` is `node` or above it.
    fn is_above(&self, above: u32, mut node: u32) -> bool {
        // Parents have smaller numbers.
        while node > above {
            node = self.parent(node);
        }
        node == above
    }

    /// Draws pairs of nodes, neither of which is above the other. There are fewer if the tree has
    /// hardly any.
    pub fn pairs(&self, count: usize) -> Vec<(u32, u32)> {
        let mut random = Random::new(self.seed, &[PATH, PAIRS]);
        let mut draw = || random.below(self.len().into()) as u32;
        let drawn = (0..100 * count).map(|_| (draw(), draw()));
        let unrelated =
            drawn.filter(|&(one, other)| !self.is_above(one, other) && !self.is_above(other, one));
        unrelated.take(count).collect()
    }

    /// Checks that a tree has all links of the growth, and no others.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check(&self, links: &[(u32, u32)]) -> Result<(), Wrong> {
        let mut found = HashSet::new();
        for &(parent, node) in links {
            if node == 0 || node >= self.len() || self.parent(node) != parent || !found.insert(node) {
                return Err(Wrong::new(format!("node {node} must not be a child of {parent}")));
            }
        }
        let expected = self.len() as usize - 1;
        if found.len() != expected {
            return Err(Wrong::new(format!("{} of {expected} nodes have a parent", found.len())));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grows a tree by two clients, of which the second one is late.
    fn grown() -> (Growth, Vec<(u32, u32)>) {
        let growth = Growth::new(500, 3);
        growth.begin(7);
        let mut links = Vec::new();
        for mut inserter in growth.inserters(2) {
            while let Some((node, parent)) = growth.next(&mut inserter) {
                assert!(parent < node && growth.handle(parent) == 7 + u64::from(parent));
                growth.inserted((node, parent), 7 + u64::from(node));
                links.push((parent, node));
            }
        }
        (growth, links)
    }

    #[test]
    fn all_nodes_are_inserted_once_below_earlier_ones() {
        let (growth, mut links) = grown();
        assert!(growth.check(&links).is_ok());
        let refused = |links: &[(u32, u32)], words: &str| {
            let wrong = growth.check(links).unwrap_err().to_string();
            assert!(wrong.contains(words), "{wrong}");
        };
        refused(&links[1..], "498 of 499 nodes have a parent");
        links.push(links[5]);
        refused(&links, "must not be a child");
        links.pop();
        links[9].0 += 1;
        refused(&links, "must not be a child");
    }

    #[test]
    fn of_a_pair_neither_is_above_the_other() {
        let (growth, _) = grown();
        let pairs = growth.pairs(300);
        assert_eq!(pairs.len(), 300);
        for (one, other) in pairs {
            let path = |node: u32| {
                std::iter::successors(Some(node), |&node| (node > 0).then(|| growth.parent(node)))
            };
            assert!(!path(one).any(|above| above == other) && !path(other).any(|above| above == one));
        }
        assert!(Growth::new(1, 3).pairs(10).is_empty());
    }
}
