//! The number of a node.

use std::fmt;

/// A node of a hierarchy, by its number.
///
/// A hierarchy is built from the nodes 0, 1, 2 and so on, so that data of nodes can be kept in an
/// array. Numbers of removed nodes are reused for new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// Marks the absence of a node or an edge in links.
pub(crate) const NONE: u32 = u32::MAX;

impl Node {
    /// Its number, as an array index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
