//! Takes a snapshot of what an operation names, to be read while other operations write.
//!
//! A writer copies a part that is in a snapshot before it changes it: so no writer waits for a long
//! read.

use super::concurrent::{SharedPart, TaskView};
use super::layout::Layout;
use super::node::{Node, NodeList};
use super::operations::{Operation, Scratch};
use super::parts::Part;
use super::world::{Mode, Planner, Values, View, World};
use xtasking_hierarchy::SurveyResult;

/// The parts and links of the named nodes at one moment.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// For each node, its index among the copies, plus 1; 0 if it is not in the snapshot.
    indexes: Vec<u32>,
    copies: Vec<NodeCopy>,
}

/// A node in a snapshot.
#[derive(Debug)]
pub(super) struct NodeCopy {
    part: SharedPart,
    children: Box<[Node]>,
    parents: Box<[Node]>,
}

impl NodeCopy {
    /// Copies a node; its part is shared.
    pub fn of(part: &SharedPart, children: &NodeList<'_>, parents: &NodeList<'_>) -> Self {
        Self { part: part.clone(), children: children.iter().collect(), parents: parents.iter().collect() }
    }
}

/// Makes a snapshot of the results of a [survey](super::survey).
impl From<SurveyResult<NodeCopy>> for Snapshot {
    fn from(surveyed: SurveyResult<NodeCopy>) -> Self {
        let mut snapshot = Self::default();
        surveyed.into_iter().for_each(|(node, copy)| snapshot.put(node.into(), || copy));
        snapshot
    }
}

impl Snapshot {
    /// Takes a snapshot of everything that an operation names.
    pub fn of(operation: Operation, seed: u64, layout: &Layout, view: &TaskView<'_>) -> Self {
        let mut planner = SnapshotPlanner { view, snapshot: Self::default() };
        _ = operation.plan(layout, seed, &mut Scratch::default(), &mut planner);
        planner.snapshot
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Adds a node unless it is in the snapshot.
    fn put(&mut self, node: Node, take: impl FnOnce() -> NodeCopy) {
        let Self { indexes, copies } = self;
        if indexes.len() <= node.index() {
            indexes.resize(node.index() + 1, 0);
        }
        if indexes[node.index()] == 0 {
            copies.push(take());
            indexes[node.index()] = copies.len() as u32;
        }
    }

    #[track_caller]
    fn at(&self, node: Node) -> &NodeCopy {
        let index = self.indexes.get(node.index()).and_then(|index| index.checked_sub(1));
        match index {
            Some(index) => &self.copies[index as usize],
            None => panic!("node {node} is not in the snapshot"),
        }
    }
}

/// A planner that copies what a plan names.
struct SnapshotPlanner<'s, 'h> {
    view: &'s TaskView<'h>,
    snapshot: Snapshot,
}

impl SnapshotPlanner<'_, '_> {
    fn take(&mut self, node: Node) {
        let view = self.view;
        let take = || NodeCopy::of(view.part(node), &view.children(node), &view.parents(node));
        self.snapshot.put(node, take);
    }
}

impl Planner for SnapshotPlanner<'_, '_> {
    fn peek<R>(&mut self, node: Node, look: impl FnOnce(&Part, &NodeList<'_>) -> R) -> Option<R> {
        Some(look(self.view.get(node), &self.view.children(node)))
    }

    fn peek_parents<R>(&mut self, node: Node, look: impl FnOnce(&NodeList<'_>) -> R) -> Option<R> {
        Some(look(&self.view.parents(node)))
    }

    fn claim_node(&mut self, node: Node, _: Mode) {
        self.take(node);
    }

    fn claim_tree(&mut self, node: Node, _: Mode) {
        let view = self.view;
        view.below(node).for_each(|node| self.take(node));
    }
}

impl View for Snapshot {
    #[inline]
    fn get(&self, node: Node) -> &Part {
        &self.at(node).part
    }

    #[inline]
    fn children(&self, node: Node) -> NodeList<'_> {
        NodeList::Nodes(&self.at(node).children)
    }

    #[inline]
    fn parents(&self, node: Node) -> NodeList<'_> {
        NodeList::Nodes(&self.at(node).parents)
    }
}

/// Operations are written for worlds that can be changed; only those that read run on a snapshot.
#[cold]
fn unreachable_write() -> ! {
    unreachable!("an operation that only reads changes nothing")
}

impl Values for Snapshot {
    fn get_mut(&mut self, _: Node) -> &mut Part {
        unreachable_write()
    }
}

impl World for Snapshot {
    fn insert(&mut self, _: Node, _: Part) -> Node {
        unreachable_write()
    }

    fn remove(&mut self, _: Node) {
        unreachable_write()
    }

    fn link(&mut self, _: Node, _: Node) {
        unreachable_write()
    }

    fn unlink(&mut self, _: Node, _: Node) {
        unreachable_write()
    }
}
