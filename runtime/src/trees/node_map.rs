//! What is known of each of many nodes.

use super::node::Node;
use alloc::boxed::Box;

/// Places of a map that is not empty, at least.
const FEWEST: usize = 64;

/// A map of nodes: a hash table with linear probing, of which at most half is used.
#[derive(Clone)]
pub(super) struct NodeMap<V> {
    /// As many as a power of two; none has a value in an empty map.
    places: Box<[(Node, Option<V>)]>,
    used: usize,
}

impl<V> Default for NodeMap<V> {
    fn default() -> Self {
        Self { places: Box::default(), used: 0 }
    }
}

impl<V: Copy> NodeMap<V> {
    /// Returns the value of a node.
    #[inline]
    pub fn get(&self, node: Node) -> Option<V> {
        if self.places.is_empty() { None } else { self.places[self.find(node)].1 }
    }

    /// Sets the value of a node. Returns the one that it had.
    pub fn insert(&mut self, node: Node, value: V) -> Option<V> {
        if self.used * 2 >= self.places.len() {
            self.grow();
        }
        let at = self.find(node);
        let old = self.places[at].1;
        self.places[at] = (node, Some(value));
        self.used += usize::from(old.is_none());
        old
    }

    /// Returns the place of a node, or a free one if it has none.
    #[inline(always)]
    fn find(&self, node: Node) -> usize {
        let mask = self.places.len() - 1;
        // Fibonacci hashing: neighbours go to different places.
        let mut at = (node.index.wrapping_mul(0x9E37_79B1) >> 7) as usize & mask;
        loop {
            let (here, value) = &self.places[at];
            if *here == node || value.is_none() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let free = (Node { index: 0, generation: 0 }, None);
        let count = (self.places.len() * 2).max(FEWEST);
        let places = core::iter::repeat_n(free, count).collect();
        for (node, value) in core::mem::replace(&mut self.places, places) {
            if value.is_some() {
                let at = self.find(node);
                self.places[at] = (node, value);
            }
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    #[test]
    fn a_map_of_nodes_is_like_any_map() {
        let (mut map, mut other) = (NodeMap::default(), BTreeMap::new());
        for step in 0..3000u32 {
            let random = step.wrapping_mul(0x9E37_79B1) >> 20;
            let node = Node { index: random % 700, generation: random % 3 };
            assert_eq!(map.get(node), other.get(&node).copied());
            assert_eq!(map.insert(node, step), other.insert(node, step));
            assert_eq!(map.get(node), Some(step));
        }
        assert_eq!(map.used, other.len());
    }
}
