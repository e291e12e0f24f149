//! Why a task cannot do something in a tree.

use super::node::Node;
use core::error::Error;
use core::fmt;

/// Why a task cannot access or change a node. The tree is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeError {
    /// The node was removed.
    Missing(Node),
    /// The claim of the task does not cover the node, or covers it only to read it.
    NotClaimed(Node),
    /// The root cannot be removed or moved.
    Root,
    /// The first node cannot become a child of the second, which is below it, perhaps by links.
    Cycle(Node, Node),
    /// The node has too few children for a child at this index.
    NoSuchPlace(Node, usize),
    /// The first node is no parent of the second.
    NotLinked(Node, Node),
    /// The node cannot be unlinked from its only parent.
    OnlyParent(Node),
    /// The first node cannot be removed: the second, which stays, is a parent of it too.
    OtherParent(Node, Node),
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(node) => write!(f, "{node:?} does not exist"),
            Self::NotClaimed(node) => write!(f, "the task has not claimed {node:?} for this"),
            Self::Root => f.write_str("the root cannot be removed or moved"),
            Self::Cycle(node, to) => write!(f, "{node:?} cannot become a child of {to:?}, which is below it"),
            Self::NoSuchPlace(node, at) => write!(f, "{node:?} has too few children for one at {at}"),
            Self::NotLinked(parent, node) => write!(f, "{parent:?} is no parent of {node:?}"),
            Self::OnlyParent(node) => write!(f, "{node:?} has no other parent: remove it, or move it"),
            Self::OtherParent(node, parent) => {
                write!(f, "{node:?} is a child of {parent:?} too: unlink it there")
            }
        }
    }
}

impl Error for TreeError {}
