//! The name of a node.

use std::fmt;

/// A node of a hierarchy, by its number.
///
/// The nodes that a hierarchy is built from have the numbers 0, 1, 2 and so on, so that what belongs to a node can stand in
/// an array. The number of a removed node is given to a node that comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// Stands in links for a node or an edge that is not there.
pub(crate) const NONE: u32 = u32::MAX;

impl Node {
    /// Its number, as the index of an array.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
