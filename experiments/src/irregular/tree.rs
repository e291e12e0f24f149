//! The nodes of an unbalanced tree, as the benchmark UTS (Olivier et al., 2006) defines its
//! geometric trees of fixed shape.
//!
//! A node is a SHA-1 state. The state of a child is the hash of its parent's and its own number, so
//! any part of the tree can be found without the others. The number of children is drawn from a
//! geometric distribution with mean 4, by the state; nodes at the largest depth have none.

use sha1::{Digest, Sha1};

/// The mean number of children.
const MEAN: f64 = 4.0;
/// The seed of the published tree T1.
const SEED: u32 = 19;

/// A node.
#[derive(Clone, Copy)]
pub(super) struct Node {
    state: [u8; 20],
    /// Levels below.
    height: u32,
}

impl Node {
    /// Returns the root of a tree with a number of levels below it.
    pub(super) fn root(depth: u32) -> Self {
        let mut seed = [0; 20];
        seed[16..].copy_from_slice(&SEED.to_be_bytes());
        Self { state: Sha1::digest(seed).into(), height: depth }
    }

    /// Returns the child of a number.
    pub(super) fn child(&self, number: u32) -> Self {
        let mut from = [0; 24];
        from[..20].copy_from_slice(&self.state);
        from[20..].copy_from_slice(&number.to_be_bytes());
        Self { state: Sha1::digest(from).into(), height: self.height - 1 }
    }

    /// Returns the number of children.
    pub(super) fn children(&self) -> u32 {
        if self.height == 0 {
            return 0;
        }
        let [.., a, b, c, d] = self.state;
        let uniform = f64::from(u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff) / f64::from(1u32 << 31);
        let success = 1.0 / (1.0 + MEAN);
        ((1.0 - uniform).ln() / f64::ln(1.0 - success)) as u32
    }
}
