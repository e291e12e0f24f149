//! The error of building or changing a hierarchy.

use crate::Node;
use std::fmt;

/// Why a shape cannot be built or changed. Nothing has been changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// The node does not exist.
    NoSuchNode(Node),
    /// There would be this many nodes or edges, more than
    /// [`Shape::MAX_SIZE`](crate::Shape::MAX_SIZE).
    TooMany(usize),
    /// The child is under that parent already.
    AlreadyChild {
        /// The parent.
        parent: Node,
        /// The child.
        child: Node,
    },
    /// There would be a cycle: each of these nodes is the parent of the next, and the last one of
    /// the first.
    Cycle(Vec<Node>),
    /// The node is not a child of that parent; without a parent, it is not a root.
    NotAChild {
        /// The parent.
        parent: Option<Node>,
        /// The node that is not its child.
        child: Node,
    },
    /// The child has no other parent. Remove the child, or link it to another parent first.
    OnlyParent {
        /// The parent.
        parent: Node,
        /// The child.
        child: Node,
    },
    /// A sub-tree cannot be removed, as this node of it has a parent outside.
    Shared {
        /// The node.
        node: Node,
        /// The parent outside of the sub-tree.
        parent: Node,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchNode(node) => write!(f, "node {node} does not exist"),
            Self::TooMany(count) => {
                write!(f, "{count} nodes or edges exceed the limit of {}", crate::Shape::MAX_SIZE)
            }
            Self::AlreadyChild { parent, child } => {
                write!(f, "node {child} already is a child of node {parent}")
            }
            Self::Cycle(cycle) => {
                write!(f, "the edges form a cycle: ")?;
                cycle.iter().try_for_each(|node| write!(f, "{node} → "))?;
                write!(f, "{}", cycle.first().expect("a cycle has a node"))
            }
            Self::NotAChild { parent: Some(parent), child } => {
                write!(f, "node {child} is not a child of node {parent}")
            }
            Self::NotAChild { parent: None, child } => write!(f, "node {child} is not a root"),
            Self::OnlyParent { parent, child } => {
                write!(f, "node {parent} is the only parent of node {child}")
            }
            Self::Shared { node, parent } => {
                write!(f, "node {node} also is a child of node {parent}, which is not removed")
            }
        }
    }
}

impl std::error::Error for ShapeError {}
