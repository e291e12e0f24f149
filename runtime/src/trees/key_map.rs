//! What is known of each of many nodes or gates.

use super::gate::GateSlot;
use super::node::Node;
use alloc::boxed::Box;
use core::ptr::null;

/// Places of a map that is not empty, at least.
const FEWEST: usize = 64;

/// A key of a map.
pub(super) trait MapKey: Copy + PartialEq {
    /// What stands at places without a value.
    const UNUSED: Self;

    /// Returns a number, different for most keys.
    fn number(self) -> u32;
}

impl MapKey for Node {
    const UNUSED: Self = Self { index: 0, generation: 0 };

    #[inline(always)]
    fn number(self) -> u32 {
        self.index
    }
}

impl MapKey for *const GateSlot {
    const UNUSED: Self = null();

    #[inline(always)]
    fn number(self) -> u32 {
        (self.addr() / align_of::<GateSlot>()) as u32
    }
}

/// A map of nodes.
pub(super) type NodeMap<V> = KeyMap<Node, V>;

/// A map: a hash table with linear probing, of which at most half is used.
#[derive(Clone)]
pub(super) struct KeyMap<K, V> {
    /// As many as a power of two; none has a value in an empty map.
    places: Box<[(K, Option<V>)]>,
    used: usize,
}

impl<K, V> Default for KeyMap<K, V> {
    fn default() -> Self {
        Self { places: Box::default(), used: 0 }
    }
}

impl<K: MapKey, V: Copy> KeyMap<K, V> {
    /// Returns the value of a key.
    #[inline]
    pub fn get(&self, key: K) -> Option<V> {
        if self.places.is_empty() { None } else { self.places[self.find(key)].1 }
    }

    /// Sets the value of a key. Returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.used * 2 >= self.places.len() {
            self.grow();
        }
        let at = self.find(key);
        let old = self.places[at].1;
        self.places[at] = (key, Some(value));
        self.used += usize::from(old.is_none());
        old
    }

    /// Returns the place of a key, or a free one if it has none.
    #[inline(always)]
    fn find(&self, key: K) -> usize {
        let mask = self.places.len() - 1;
        // Fibonacci hashing: neighbours go to different places. The highest bits are best.
        let hash = key.number().wrapping_mul(0x9E37_79B1);
        let mut at = ((u64::from(hash) * self.places.len() as u64) >> 32) as usize;
        loop {
            let (here, value) = &self.places[at];
            if *here == key || value.is_none() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes room for as many keys as that at once.
    pub fn reserve(&mut self, keys: usize) {
        if keys * 2 > self.places.len() {
            self.grow_to((keys * 2).next_power_of_two());
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.grow_to(self.places.len() * 2);
    }

    fn grow_to(&mut self, count: usize) {
        let count = count.max(FEWEST);
        let places = core::iter::repeat_n((K::UNUSED, None), count).collect();
        for (key, value) in core::mem::replace(&mut self.places, places) {
            if value.is_some() {
                let at = self.find(key);
                self.places[at] = (key, value);
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
