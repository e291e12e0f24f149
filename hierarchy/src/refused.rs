//! Why a hierarchy is not built or changed so.

use crate::Node;
use std::fmt;

/// Why a hierarchy cannot be built or changed so. Nothing has been changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no such node.
    NoNode(Node),
    /// There would be so many nodes or edges; the most is [`Shape::MOST`](crate::Shape::MOST) of each.
    TooMany(usize),
    /// The child is under that parent already.
    Twice {
        /// The parent.
        parent: Node,
        /// The child.
        child: Node,
    },
    /// There would be a cycle: each of these nodes the parent of the next, and the last one the parent of the first.
    Cycle(Vec<Node>),
    /// The node is no child of that parent; if none is named, it is no root.
    NoChild {
        /// The parent.
        parent: Option<Node>,
        /// Not its child.
        child: Node,
    },
    /// It is the child's only parent: the child would have to be removed, or linked to another parent before.
    OnlyParent {
        /// The parent.
        parent: Node,
        /// The child.
        child: Node,
    },
    /// A sub-tree cannot be removed, as this node of it can be reached by a parent as well that is not to be removed.
    Shared {
        /// The node.
        node: Node,
        /// That parent.
        parent: Node,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNode(node) => write!(f, "there is no node {node}"),
            Self::TooMany(count) => {
                write!(f, "{count} nodes or edges are too many: the most is {}", crate::Shape::MOST)
            }
            Self::Twice { parent, child } => write!(f, "node {child} is a child of node {parent} already"),
            Self::Cycle(cycle) => {
                write!(f, "a cycle: ")?;
                cycle.iter().try_for_each(|node| write!(f, "{node} → "))?;
                write!(f, "{}", cycle.first().expect("a cycle has a node"))
            }
            Self::NoChild { parent: Some(parent), child } => {
                write!(f, "node {child} is no child of node {parent}")
            }
            Self::NoChild { parent: None, child } => write!(f, "node {child} is no root"),
            Self::OnlyParent { parent, child } => {
                write!(f, "node {parent} is the only parent of node {child}")
            }
            Self::Shared { node, parent } => {
                write!(f, "node {node} is also under node {parent}, which is not removed")
            }
        }
    }
}

impl std::error::Error for Refused {}
