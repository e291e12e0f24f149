//! Nodes of any world.

use std::fmt;
use xtasking::trees;
use xtasking_hierarchy as numbered;

/// A node of a world: its number, or the bits of its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u64);

/// The children or the parents of a node.
pub enum NodeList<'l> {
    /// Of a sequential world or a snapshot.
    Nodes(&'l [Node]),
    /// Of a hierarchy.
    Numbers(&'l [numbered::Node]),
    /// Of a tree.
    Handles(&'l [trees::Node]),
    /// The parents in a tree.
    Parents(Vec<trees::Node>),
}

impl Node {
    /// Returns the node of a number.
    pub const fn of_number(number: u32) -> Self {
        Self(number as u64)
    }

    /// Returns the number of the node, in a world whose nodes have numbers.
    pub const fn number(self) -> u32 {
        self.0 as u32
    }

    /// Returns the number of the node as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<numbered::Node> for Node {
    #[inline]
    fn from(node: numbered::Node) -> Self {
        Self::of_number(node.0)
    }
}

impl From<Node> for numbered::Node {
    #[inline]
    fn from(node: Node) -> Self {
        Self(node.number())
    }
}

impl From<trees::Node> for Node {
    #[inline]
    fn from(node: trees::Node) -> Self {
        Self(node.to_bits())
    }
}

impl From<Node> for trees::Node {
    #[inline]
    fn from(node: Node) -> Self {
        Self::from_bits(node.0)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl NodeList<'_> {
    /// Returns the number of nodes.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Nodes(nodes) => nodes.len(),
            Self::Numbers(nodes) => nodes.len(),
            Self::Handles(nodes) => nodes.len(),
            Self::Parents(nodes) => nodes.len(),
        }
    }

    /// Returns true if there are no nodes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn at(&self, at: usize) -> Node {
        match self {
            Self::Nodes(nodes) => nodes[at],
            Self::Numbers(nodes) => nodes[at].into(),
            Self::Handles(nodes) => nodes[at].into(),
            Self::Parents(nodes) => nodes[at].into(),
        }
    }

    /// Returns the nodes in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Node> + Clone {
        (0..self.len()).map(|at| self.at(at))
    }

    /// Returns the first node, if there is one.
    pub fn first(&self) -> Option<Node> {
        self.iter().next()
    }

    /// Returns true if the node is among these.
    pub fn contains(&self, node: Node) -> bool {
        self.iter().any(|other| other == node)
    }
}

impl<const N: usize> PartialEq<[Node; N]> for NodeList<'_> {
    fn eq(&self, other: &[Node; N]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl fmt::Debug for NodeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
