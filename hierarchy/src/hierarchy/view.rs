//! What a task accesses of a hierarchy while it runs.

use super::slab::{Location, Record, Slab};
use crate::Node;
use smallvec::{SmallVec, smallvec};
use std::collections::HashSet;
use std::ops::{Index, IndexMut};
use xtasking::Held;

/// The nodes that a task has claimed, for as long as the task runs.
///
/// It gives access to all nodes in the granules that the task holds. Which nodes these are, besides
/// the named ones, depends on the layout: do not rely on it. Methods that need the data of a node
/// panic if the task has not claimed the node.
pub struct View<'h, T: Send + Sync + 'static> {
    pub(super) held: Held<'h, Slab<T>>,
}

impl<'h, T: Send + Sync + 'static> View<'h, T> {
    /// Creates a view of what a task holds.
    pub fn new(held: Held<'h, Slab<T>>) -> Self {
        Self { held }
    }

    /// The data of a node, if the node exists and the task holds it.
    pub fn find(&self, node: Node) -> Option<&T> {
        let Location { granule, slot } = Location::find(self.held.directory(), node)?;
        if !self.held.has(granule) {
            return None;
        }
        self.held.get(granule).get(node, slot).map(|record| &record.value)
    }

    /// Returns true if the data of a node may be half-written, because a task panicked that wrote
    /// this node or another one of its granule. Only a task that has claimed it [even if
    /// poisoned](xtasking::Claim::even_poisoned) gets to see that.
    #[track_caller]
    pub fn is_poisoned(&self, node: Node) -> bool {
        self.held.is_poisoned(self.locate(node).granule)
    }

    /// The node's children, in order.
    #[track_caller]
    pub fn children(&self, node: Node) -> &[Node] {
        &self.record(node).children
    }

    /// The node's parents, in no order.
    #[track_caller]
    pub fn parents(&self, node: Node) -> &[Node] {
        &self.record(node).parents
    }

    /// Iterates over the node and its descendants, each once, a node before its children. Children
    /// come in their order unless some nodes have several parents.
    #[track_caller]
    pub fn subtree(&self, node: Node) -> ViewSubtree<'_, 'h, T> {
        ViewSubtree { view: self, walk: Walk::from(node) }
    }

    /// Calls `each` with the data of the node and of each descendant, each once.
    #[track_caller]
    pub fn for_each_in_subtree(&mut self, node: Node, mut each: impl FnMut(&mut T)) {
        let mut walk = Walk::from(node);
        while let Some(node) = walk.pop() {
            let record = self.record_mut(node);
            if walk.enter(record) {
                each(&mut record.value);
            }
        }
    }

    /// All nodes of the granules that the task holds, with their data.
    pub fn all(&self) -> impl Iterator<Item = (Node, &T)> {
        let granules = self.held.granules();
        granules.flat_map(|(granule, _)| self.held.get(granule).nodes()).map(|at| (at.node, &at.value))
    }

    #[track_caller]
    pub(super) fn locate(&self, node: Node) -> Location {
        match Location::find(self.held.directory(), node) {
            Some(location) => location,
            None => panic!("node {node} does not exist"),
        }
    }

    #[track_caller]
    pub(super) fn record(&self, node: Node) -> &Record<T> {
        let Location { granule, slot } = self.locate(node);
        match self.held.get(granule).get(node, slot) {
            Some(record) => record,
            None => panic!("node {node} does not exist"),
        }
    }

    #[track_caller]
    pub(super) fn record_mut(&mut self, node: Node) -> &mut Record<T> {
        let Location { granule, slot } = self.locate(node);
        match self.held.get_mut(granule).get_mut(node, slot) {
            Some(record) => record,
            None => panic!("node {node} does not exist"),
        }
    }
}

impl<T: Send + Sync + 'static> Index<Node> for View<'_, T> {
    type Output = T;

    #[track_caller]
    fn index(&self, node: Node) -> &T {
        &self.record(node).value
    }
}

impl<T: Send + Sync + 'static> IndexMut<Node> for View<'_, T> {
    #[track_caller]
    fn index_mut(&mut self, node: Node) -> &mut T {
        &mut self.record_mut(node).value
    }
}

/// A walk through a sub-tree.
pub(super) struct Walk {
    /// Most sub-trees are small, so that this allocates nothing.
    open: SmallVec<[Node; 32]>,
    /// Nodes with several parents that were visited.
    shared: HashSet<Node>,
}

impl Walk {
    pub fn from(node: Node) -> Self {
        Self { open: smallvec![node], shared: HashSet::new() }
    }

    pub fn pop(&mut self) -> Option<Node> {
        self.open.pop()
    }

    /// Continues below this node unless it was visited before. Returns true if it was not.
    pub fn enter<T>(&mut self, record: &Record<T>) -> bool {
        let is_new = record.parents.len() < 2 || self.shared.insert(record.node);
        if is_new {
            let before = self.open.len();
            self.open.extend_from_slice(&record.children);
            self.open[before..].reverse();
        }
        is_new
    }
}

/// An iterator over a node and its descendants: see [`View::subtree`].
pub struct ViewSubtree<'v, 'h, T: Send + Sync + 'static> {
    view: &'v View<'h, T>,
    walk: Walk,
}

impl<T: Send + Sync + 'static> Iterator for ViewSubtree<'_, '_, T> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        loop {
            let node = self.walk.pop()?;
            if self.walk.enter(self.view.record(node)) {
                return Some(node);
            }
        }
    }
}
