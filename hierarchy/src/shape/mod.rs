//! Nodes, and which is a child of which.
//!
//! Each edge is a record of one array and is in two lists: the edges of its parent, in the order of
//! the children, and the edges of its child. Hence an edge is added or removed in constant time,
//! however many children a node has. A root has an edge without a parent, so that roots are ordered
//! like children. A node takes 12 bytes, and 20 for each of its parents.
//!
//! | file | contents |
//! |---|---|
//! | `build` | building a shape from its edges |
//! | `change` | adding and removing nodes and edges |
//! | `walk` | sub-trees, ancestors, topological order, depths |

mod build;
mod change;
mod walk;

pub use walk::Subtree;

use crate::node::NONE;
use crate::{Node, ShapeError};

/// Trees, or a directed acyclic graph: nodes, each with its children in order.
///
/// A shape is built by [`from_edges`](Self::from_edges) or a function of
/// [`generate`](crate::generate). It is changed by the [`Numbering`](crate::Numbering) that owns
/// it.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    nodes: Vec<Links>,
    edges: Vec<Edge>,
    roots: Ends,
    /// Numbers of removed nodes, to be reused.
    free_nodes: Vec<Node>,
    free_edges: Vec<u32>,
}

/// The first and the last edge of a list.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

/// The edges of a node.
#[derive(Clone, Copy, Debug)]
struct Links {
    children: Ends,
    /// The first edge to this node; `NONE` only if the node was removed.
    parents: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// `NONE` for a root.
    parent: u32,
    child: u32,
    /// The neighbours in the parent's list.
    next: u32,
    previous: u32,
    /// The next one in the child's list.
    other: u32,
}

impl Default for Ends {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl Edge {
    /// The parent; `None` for a root.
    pub(crate) fn parent(&self) -> Option<Node> {
        (self.parent != NONE).then_some(Node(self.parent))
    }

    pub(crate) fn child(&self) -> Node {
        Node(self.child)
    }

    pub(crate) fn next(&self) -> u32 {
        self.next
    }
}

/// Methods panic if a node does not exist.
impl Shape {
    /// Largest number of nodes, and of edges.
    pub const MAX_SIZE: usize = i32::MAX as usize;

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free_nodes.len()
    }

    /// Returns true if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length of an array indexed by node: all nodes have smaller numbers.
    pub fn bound(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if the node exists.
    pub fn contains(&self, node: Node) -> bool {
        self.nodes.get(node.index()).is_some_and(|links| links.parents != NONE)
    }

    /// All nodes, in ascending order.
    pub fn nodes(&self) -> impl Iterator<Item = Node> {
        let all = self.nodes.iter().zip(0..);
        all.filter(|(links, _)| links.parents != NONE).map(|(_, number)| Node(number))
    }

    /// The nodes without a parent, in order.
    pub fn roots(&self) -> impl Iterator<Item = Node> {
        self.list(self.roots.first, |edge| edge.next).map(Edge::child)
    }

    /// The children of a node, in order.
    #[track_caller]
    pub fn children(&self, node: Node) -> impl Iterator<Item = Node> {
        self.list(self.links(node).children.first, |edge| edge.next).map(Edge::child)
    }

    /// The parents of a node, in no particular order; none if it is a root.
    #[track_caller]
    pub fn parents(&self, node: Node) -> impl Iterator<Item = Node> {
        self.list(self.links(node).parents, |edge| edge.other).filter_map(Edge::parent)
    }

    /// The first child; `None` for a leaf.
    #[track_caller]
    pub fn first_child(&self, node: Node) -> Option<Node> {
        self.edge(self.links(node).children.first).map(Edge::child)
    }

    /// The last child; `None` for a leaf.
    #[track_caller]
    pub fn last_child(&self, node: Node) -> Option<Node> {
        self.edge(self.links(node).children.last).map(Edge::child)
    }

    /// Returns true if the node has no children.
    #[track_caller]
    pub fn is_leaf(&self, node: Node) -> bool {
        self.links(node).children.first == NONE
    }

    /// Returns true if the node has no parents.
    #[track_caller]
    pub fn is_root(&self, node: Node) -> bool {
        self.parents(node).next().is_none()
    }

    /// Returns true if the node has several parents.
    #[track_caller]
    pub fn is_shared(&self, node: Node) -> bool {
        self.parents(node).nth(1).is_some()
    }

    #[track_caller]
    fn links(&self, node: Node) -> &Links {
        match self.nodes.get(node.index()) {
            Some(links) if links.parents != NONE => links,
            _ => panic!("node {node} does not exist"),
        }
    }

    pub(crate) fn check(&self, node: Node) -> Result<(), ShapeError> {
        if self.contains(node) { Ok(()) } else { Err(ShapeError::NoSuchNode(node)) }
    }

    pub(crate) fn edge(&self, edge: u32) -> Option<&Edge> {
        // No list is long enough to have an edge with the number `NONE`.
        self.edges.get(edge as usize)
    }

    /// The edge to the first child, or to the first root.
    pub(crate) fn first_edge(&self, parent: Option<Node>) -> u32 {
        self.ends(parent).first
    }

    fn ends(&self, parent: Option<Node>) -> &Ends {
        parent.map_or(&self.roots, |parent| &self.nodes[parent.index()].children)
    }

    /// Iterates over a list of edges.
    fn list(&self, first: u32, next: fn(&Edge) -> u32) -> impl Iterator<Item = &Edge> {
        std::iter::successors(self.edge(first), move |edge| self.edge(next(edge)))
    }
}
