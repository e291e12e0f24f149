//! What a task sees of a hierarchy.

use super::slab::{Location, Record, Slab};
use crate::Node;
use smallvec::{SmallVec, smallvec};
use std::collections::HashSet;
use std::ops::{Index, IndexMut};
use xtasking::Held;

/// The nodes that a task has claimed, as long as it runs.
///
/// It reaches all nodes whose granules the task has. Which nodes these are besides those that it has named depends on how the
/// hierarchy is laid out; to count on that is a mistake. What asks for the data of a node panics if the task does not have it.
pub struct View<'h, T: Send + Sync + 'static> {
    pub(super) held: Held<'h, Slab<T>>,
}

impl<'h, T: Send + Sync + 'static> View<'h, T> {
    /// Of what a task has.
    pub fn new(held: Held<'h, Slab<T>>) -> Self {
        Self { held }
    }

    /// The data of a node, if there is such a node and the task has it.
    pub fn find(&self, node: Node) -> Option<&T> {
        let Location { granule, slot } = Location::find(self.held.directory(), node)?;
        if !self.held.has(granule) {
            return None;
        }
        self.held.get(granule).get(node, slot).map(|record| &record.value)
    }

    /// Whether the data of a node may be half-written, as a task has panicked that wrote these or others of the same granule. A
    /// task comes to see that which has claimed it [even so](xtasking::Claim::even_poisoned).
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

    /// The node and all below it, each once: a node before its children, those in their order unless some have several parents.
    #[track_caller]
    pub fn below(&self, node: Node) -> Below<'_, 'h, T> {
        Below { view: self, walk: Walk::from(node) }
    }

    /// Calls `each` with the data of the node and of all below it, each once.
    #[track_caller]
    pub fn for_each_below(&mut self, node: Node, mut each: impl FnMut(&mut T)) {
        let mut walk = Walk::from(node);
        while let Some(node) = walk.pop() {
            let record = self.record_mut(node);
            if walk.go_on(record) {
                each(&mut record.value);
            }
        }
    }

    /// All nodes of the granules that the task has, with their data.
    pub fn all(&self) -> impl Iterator<Item = (Node, &T)> {
        let granules = self.held.granules();
        granules.flat_map(|(granule, _)| self.held.get(granule).nodes()).map(|at| (at.node, &at.value))
    }

    #[track_caller]
    pub(super) fn locate(&self, node: Node) -> Location {
        match Location::find(self.held.directory(), node) {
            Some(location) => location,
            None => panic!("there is no node {node}"),
        }
    }

    #[track_caller]
    pub(super) fn record(&self, node: Node) -> &Record<T> {
        let Location { granule, slot } = self.locate(node);
        match self.held.get(granule).get(node, slot) {
            Some(record) => record,
            None => panic!("there is no node {node}"),
        }
    }

    #[track_caller]
    pub(super) fn record_mut(&mut self, node: Node) -> &mut Record<T> {
        let Location { granule, slot } = self.locate(node);
        match self.held.get_mut(granule).get_mut(node, slot) {
            Some(record) => record,
            None => panic!("there is no node {node}"),
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

/// A walk to all nodes below one.
pub(super) struct Walk {
    /// Most sub-trees are small, so that this needs no memory of its own.
    open: SmallVec<[Node; 32]>,
    /// Nodes with several parents that it has met.
    shared: HashSet<Node>,
}

impl Walk {
    pub fn from(node: Node) -> Self {
        Self { open: smallvec![node], shared: HashSet::new() }
    }

    pub fn pop(&mut self) -> Option<Node> {
        self.open.pop()
    }

    /// Goes on below this one, unless it was met before. Returns whether it was not.
    pub fn go_on<T>(&mut self, record: &Record<T>) -> bool {
        let is_new = record.parents.len() < 2 || self.shared.insert(record.node);
        if is_new {
            let before = self.open.len();
            self.open.extend_from_slice(&record.children);
            self.open[before..].reverse();
        }
        is_new
    }
}

/// The nodes below one: see [`View::below`].
pub struct Below<'v, 'h, T: Send + Sync + 'static> {
    view: &'v View<'h, T>,
    walk: Walk,
}

impl<T: Send + Sync + 'static> Iterator for Below<'_, '_, T> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        loop {
            let node = self.walk.pop()?;
            if self.walk.go_on(self.view.record(node)) {
                return Some(node);
            }
        }
    }
}
