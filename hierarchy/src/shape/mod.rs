//! Which nodes there are, and which is under which.
//!
//! Each edge is a record of one array, in two lists: those of its parent, in the order of the children, and those of its
//! child. So any edge comes and goes in constant time, however many children a node has, and a node costs 12 bytes and 20
//! for each of its parents. A root has an edge as well, from no parent: the roots are in order like children.

mod build;
mod change;
mod walk;

pub use walk::Subtree;

use crate::node::NONE;
use crate::{Node, Refused};

/// Trees, or a directed acyclic graph: nodes, each with its children in order.
///
/// It is built by [`from_edges`](Self::from_edges) or by one of [`generate`](crate::generate), and changed by the
/// [`Numbering`](crate::Numbering) that it was given to.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    nodes: Vec<Links>,
    edges: Vec<Edge>,
    roots: Ends,
    /// Removed, to be given out again.
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
    /// The first of the edges to it. There is always one, unless the node has been removed.
    parents: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// None above a root.
    parent: u32,
    child: u32,
    /// Among the edges of the parent.
    next: u32,
    previous: u32,
    /// The next one among those of the child.
    other: u32,
}

impl Default for Ends {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl Edge {
    /// `None` above a root.
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

/// What asks about a node panics if there is none of that number.
impl Shape {
    /// The most nodes, and the most edges, that there can be.
    pub const MOST: usize = i32::MAX as usize;

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free_nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All nodes have numbers below this one: the length of an array in which something stands for each node.
    pub fn bound(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is such a node.
    pub fn contains(&self, node: Node) -> bool {
        self.nodes.get(node.index()).is_some_and(|links| links.parents != NONE)
    }

    /// All nodes, by number.
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

    /// The parents of a node, in no order; none if it is a root.
    #[track_caller]
    pub fn parents(&self, node: Node) -> impl Iterator<Item = Node> {
        self.list(self.links(node).parents, |edge| edge.other).filter_map(Edge::parent)
    }

    /// The first child; `None` if it is a leaf.
    #[track_caller]
    pub fn first_child(&self, node: Node) -> Option<Node> {
        self.edge(self.links(node).children.first).map(Edge::child)
    }

    /// The last child; `None` if it is a leaf.
    #[track_caller]
    pub fn last_child(&self, node: Node) -> Option<Node> {
        self.edge(self.links(node).children.last).map(Edge::child)
    }

    /// Whether it has no children.
    #[track_caller]
    pub fn is_leaf(&self, node: Node) -> bool {
        self.links(node).children.first == NONE
    }

    /// Whether it has no parents.
    #[track_caller]
    pub fn is_root(&self, node: Node) -> bool {
        self.parents(node).next().is_none()
    }

    /// Whether it has more than one parent.
    #[track_caller]
    pub fn is_shared(&self, node: Node) -> bool {
        self.parents(node).nth(1).is_some()
    }

    #[track_caller]
    fn links(&self, node: Node) -> &Links {
        match self.nodes.get(node.index()) {
            Some(links) if links.parents != NONE => links,
            _ => panic!("there is no node {node}"),
        }
    }

    pub(crate) fn check(&self, node: Node) -> Result<(), Refused> {
        if self.contains(node) { Ok(()) } else { Err(Refused::NoNode(node)) }
    }

    pub(crate) fn edge(&self, edge: u32) -> Option<&Edge> {
        // No list is so long that there is a last edge of that number.
        self.edges.get(edge as usize)
    }

    /// The edge above the first child, or above the first root.
    pub(crate) fn first_edge(&self, parent: Option<Node>) -> u32 {
        self.ends(parent).first
    }

    fn ends(&self, parent: Option<Node>) -> &Ends {
        parent.map_or(&self.roots, |parent| &self.nodes[parent.index()].children)
    }

    /// The edges of a list, from one on.
    fn list(&self, first: u32, next: fn(&Edge) -> u32) -> impl Iterator<Item = &Edge> {
        std::iter::successors(self.edge(first), move |edge| self.edge(next(edge)))
    }
}
