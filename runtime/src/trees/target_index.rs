//! What the targets of a claim allow, by node: for claims of many nodes.

use super::node::Node;
use super::rights::Target;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What may be done with a node: a bit for each of [`allowed`]. Nothing in a free place.
#[derive(Clone, Copy, Default)]
struct Allowed(u8);

/// Returns the bit for reading or writing a node, alone or with all below.
#[inline(always)]
const fn allowed(write: bool, all_below: bool) -> u8 {
    1 << (write as u8 + 2 * all_below as u8)
}

impl Allowed {
    fn add(&mut self, target: &Target) {
        for all_below in [false, !target.alone] {
            self.0 |= allowed(false, all_below) | allowed(target.write, all_below);
        }
    }
}

/// A hash table with linear probing, of which at most half is used. The number of its places is a
/// power of two.
#[derive(Clone)]
pub(super) struct TargetIndex {
    places: Box<[(Node, Allowed)]>,
    used: usize,
}

const FREE: (Node, Allowed) = (Node { index: 0, generation: 0 }, Allowed(0));

impl TargetIndex {
    /// Makes an index of these targets.
    #[cold]
    pub fn new(targets: &[Target]) -> Self {
        let mut index = Self { places: Box::new([FREE; 64]), used: 0 };
        targets.iter().for_each(|target| index.add(target));
        index
    }

    pub fn add(&mut self, target: &Target) {
        if self.used * 2 >= self.places.len() {
            self.grow();
        }
        let at = self.find(target.node);
        let (node, allowed) = &mut self.places[at];
        self.used += usize::from(allowed.0 == 0);
        *node = target.node;
        allowed.add(target);
    }

    /// Returns true if a target allows to read or write this node, perhaps with all below.
    #[inline]
    pub fn allow(&self, node: Node, write: bool, all_below: bool) -> bool {
        self.places[self.find(node)].1.0 & allowed(write, all_below) != 0
    }

    /// Returns the place of a node, or a free one if it has none.
    #[inline(always)]
    fn find(&self, node: Node) -> usize {
        let mask = self.places.len() - 1;
        // Fibonacci hashing: neighbours go to different places.
        let mut at = (node.index.wrapping_mul(0x9E37_79B1) >> 7) as usize & mask;
        loop {
            let (here, allowed) = self.places[at];
            if here == node || allowed.0 == 0 {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let places = Vec::from_iter((0..self.places.len() * 2).map(|_| FREE)).into_boxed_slice();
        let old = core::mem::replace(&mut self.places, places);
        for &(node, allowed) in old.iter().filter(|place| place.1.0 != 0) {
            let at = self.find(node);
            self.places[at] = (node, allowed);
        }
    }
}
