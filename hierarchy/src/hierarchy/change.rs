//! Changes of a hierarchy's shape: inserting, removing, linking and unlinking nodes.

use super::reach::{Intervals, Reach, covers, merge_intervals};
use super::slab::Record;
use super::{Hierarchy, NodePlanView, Slab, View, renumber};
use crate::{Node, ShapeError};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use xtasking::{Claim, Context};

/// Granules that an insertion compares to find one with room.
const MAX_CANDIDATE_GRANULES: usize = 8;

/// Changes of the shape, by a task that has claimed the nodes concerned. A method panics if the
/// task has not claimed a node that it needs. A change that returns an error has changed nothing.
impl<T: Send + Sync + 'static> View<'_, T> {
    /// Inserts a leaf as the last child of `parent`.
    ///
    /// The task must write the parent, at least [alone](super::NodeRef::alone). If it also writes
    /// descendants of the parent, the new node may be put into any of their granules. If the chosen
    /// granule has grown too full, a follow-up task [renumbers](Hierarchy::renumber) the hierarchy.
    ///
    /// # Errors
    /// [`ShapeError::TooMany`] if there are no node numbers left.
    #[track_caller]
    pub fn insert(&mut self, parent: Node, value: T, cx: &mut Context) -> Result<Node, ShapeError> {
        self.insert_before(parent, usize::MAX, value, cx)
    }

    /// Inserts a leaf as the child at `index` of `parent`, or as the last child if `index` is too
    /// large. Otherwise like [`insert`](Self::insert).
    ///
    /// # Errors
    /// [`ShapeError::TooMany`] if there are no node numbers left.
    #[track_caller]
    pub fn insert_before(
        &mut self,
        parent: Node,
        index: usize,
        value: T,
        cx: &mut Context,
    ) -> Result<Node, ShapeError> {
        let own = self.locate(parent).granule;
        let intervals = self.record_mut(parent).reach.intervals(own);
        let count = intervals.iter().map(ExactSizeIterator::len).sum::<usize>();
        let all = intervals.into_iter().flatten();
        // Granules that the task does not write are skipped.
        let some = all.step_by(count.div_ceil(MAX_CANDIDATE_GRANULES)).chain([own]);
        let free = some.filter(|&granule| self.held.has_to_write(granule));
        let granule = free.min_by_key(|&granule| self.held.get(granule).len()).unwrap_or(own);
        let node = self.add(granule, [parent].into(), value, cx)?;
        let children = &mut self.record_mut(parent).children;
        children.insert(index.min(children.len()), node);
        Ok(node)
    }

    /// Inserts a leaf as the last child of `parent`, in a given granule. This is for callers that
    /// [assign granules](super::HierarchyBuilder::granule_by) themselves and claim
    /// [granules](Hierarchy::granules) by number.
    ///
    /// The task must write the granule and the parent, and every ancestor whose sub-tree had no
    /// node in that granule so far.
    ///
    /// # Errors
    /// [`ShapeError::TooMany`] if there are no node numbers left.
    #[track_caller]
    pub fn insert_in(
        &mut self,
        parent: Node,
        granule: u32,
        value: T,
        cx: &mut Context,
    ) -> Result<Node, ShapeError> {
        let wider = self.widened(parent, std::slice::from_ref(&(granule..granule + 1)));
        let node = self.add(granule, [parent].into(), value, cx)?;
        self.widen(wider);
        self.record_mut(parent).children.push(node);
        Ok(node)
    }

    /// Inserts a root into the least full granule that the task writes.
    ///
    /// # Errors
    /// [`ShapeError::TooMany`] if there are no node numbers left.
    ///
    /// # Panics
    /// Panics if the task writes nothing.
    #[track_caller]
    pub fn insert_root(&mut self, value: T, cx: &mut Context) -> Result<Node, ShapeError> {
        let written = self.held.granules().filter(|granule| granule.1).map(|granule| granule.0);
        let granule = written.min_by_key(|&granule| self.held.get(granule).len());
        self.add(granule.expect("the task must write a granule"), SmallVec::new(), value, cx)
    }

    fn add(
        &mut self,
        granule: u32,
        parents: SmallVec<[Node; 1]>,
        value: T,
        cx: &mut Context,
    ) -> Result<Node, ShapeError> {
        let directory = self.held.directory();
        let slab = self.held.get_mut(granule);
        let node = slab.allocate_number(directory).ok_or(ShapeError::TooMany(crate::node::NONE as usize))?;
        slab.put(directory, Record { node, value, parents, children: Vec::new(), reach: Reach::OWN });
        if slab.should_request_renumber() {
            renumber::request(&self.held, cx);
        }
        Ok(node)
    }

    /// Removes a node and all its descendants, and returns their data, each node before its
    /// children.
    ///
    /// The task must write the node's sub-tree and the node's parent. The reach of the ancestors
    /// does not shrink until the hierarchy is [renumbered](Hierarchy::renumber).
    ///
    /// # Errors
    /// [`ShapeError::Shared`] if the node has several parents ([unlink](Self::unlink) them first),
    /// or if a descendant has a parent outside of the sub-tree.
    #[track_caller]
    pub fn remove(&mut self, node: Node) -> Result<Vec<T>, ShapeError> {
        if let [_, parent, ..] = self.parents(node)[..] {
            return Err(ShapeError::Shared { node, parent });
        }
        let nodes: Vec<Node> = self.subtree(node).collect();
        if nodes.iter().skip(1).any(|&below| self.parents(below).len() > 1) {
            let gone: HashSet<Node> = nodes.iter().copied().collect();
            for &below in &nodes[1..] {
                if let Some(&parent) = self.parents(below).iter().find(|&parent| !gone.contains(parent)) {
                    return Err(ShapeError::Shared { node: below, parent });
                }
            }
        }
        // Panics for a node that the task does not write, before anything is changed.
        nodes.iter().for_each(|&node| _ = self.record_mut(node));
        if let Some(&parent) = self.parents(node).first() {
            self.record_mut(parent).children.retain(|&child| child != node);
        }
        let directory = self.held.directory();
        let take = |node| {
            let at = self.locate(node);
            let record = self.held.get_mut(at.granule).take(directory, node, at.slot);
            record.expect("the node was located just now").value
        };
        Ok(nodes.into_iter().map(take).collect())
    }

    /// Links a node under one more parent, as its last child. A root stops being a root.
    ///
    /// The task must have claimed what [`Hierarchy::linking`] names.
    ///
    /// # Errors
    /// [`ShapeError::AlreadyChild`] if the child is under that parent already,
    /// [`ShapeError::Cycle`] if the link would close a cycle.
    #[track_caller]
    pub fn link(&mut self, parent: Node, child: Node) -> Result<(), ShapeError> {
        if self.children(parent).contains(&child) {
            return Err(ShapeError::AlreadyChild { parent, child });
        }
        if let Some(cycle) = self.path_down(child, parent) {
            return Err(ShapeError::Cycle(cycle));
        }
        let below = self.reach_info(child).reach;
        let wider = self.widened(parent, &below);
        _ = self.record_mut(child);
        self.widen(wider);
        self.record_mut(parent).children.push(child);
        self.record_mut(child).parents.push(parent);
        Ok(())
    }

    /// Unlinks a node from one of its parents. The reach of that parent and its ancestors does not
    /// shrink until the hierarchy is [renumbered](Hierarchy::renumber).
    ///
    /// The task must write both nodes, at least [alone](super::NodeRef::alone).
    ///
    /// # Errors
    /// [`ShapeError::NotAChild`] if the node is not a child of that parent,
    /// [`ShapeError::OnlyParent`] if it has no other parent.
    #[track_caller]
    pub fn unlink(&mut self, parent: Node, child: Node) -> Result<(), ShapeError> {
        let Some(at) = self.parents(child).iter().position(|&above| above == parent) else {
            return Err(ShapeError::NotAChild { parent: Some(parent), child });
        };
        if self.parents(child).len() == 1 {
            return Err(ShapeError::OnlyParent { parent, child });
        }
        self.record_mut(parent).children.retain(|&other| other != child);
        self.record_mut(child).parents.swap_remove(at);
        Ok(())
    }

    #[track_caller]
    fn reach_info(&self, node: Node) -> ReachInfo {
        let slab = self.held.get(self.locate(node).granule);
        ReachInfo::new(slab, self.record(node))
    }

    /// Returns the wider reaches of the nodes that must grow when a sub-tree with reach `below` is
    /// added under `parent`. Panics for a node that the task does not write, before anything is
    /// changed.
    #[track_caller]
    fn widened(&mut self, parent: Node, below: &[Range<u32>]) -> HashMap<Node, Intervals> {
        let wider = widened(parent, below, |node| Some(self.reach_info(node)));
        wider.keys().copied().chain([parent]).for_each(|node| _ = self.record_mut(node));
        wider
    }

    fn widen(&mut self, wider: HashMap<Node, Intervals>) {
        for (node, intervals) in wider {
            let at = self.locate(node);
            let directory = self.held.directory();
            self.held.get_mut(at.granule).widen(directory, node, at.slot, &intervals);
        }
    }

    /// Returns a path down from `from` to `to`; `None` if `to` is not a descendant.
    fn path_down(&self, from: Node, to: Node) -> Option<Vec<Node>> {
        let mut climbed = vec![(to, 0)];
        let mut walked = HashSet::from([to]);
        let mut next = 0;
        while let Some(&(node, _)) = climbed.get(next) {
            if node == from {
                let mut path = vec![node];
                while next != 0 {
                    next = climbed[next].1;
                    path.push(climbed[next].0);
                }
                return Some(path);
            }
            let parents = self.parents(node).iter();
            let parents = parents.take(if planted!("cycle-by-second-parent") { 1 } else { usize::MAX });
            let parents = parents.filter(|&&parent| walked.insert(parent));
            climbed.extend(parents.map(|&parent| (parent, next)));
            next += 1;
        }
        None
    }
}

/// What widening needs to know of a node.
struct ReachInfo {
    reach: Intervals,
    parents: SmallVec<[Node; 1]>,
    max_intervals: usize,
}

impl ReachInfo {
    fn new<T>(slab: &Slab<T>, record: &Record<T>) -> Self {
        let reach = record.reach.intervals(slab.granule);
        Self { reach, parents: record.parents.clone(), max_intervals: slab.limits.max_intervals }
    }
}

/// Returns the wider reaches of the nodes that must grow when a sub-tree with reach `below` is
/// added under `parent`. A node's reach always covers the reaches of its children, including what
/// those cover without need. Nodes for which `look` returns `None` are skipped.
fn widened(
    parent: Node,
    below: &[Range<u32>],
    mut look: impl FnMut(Node) -> Option<ReachInfo>,
) -> HashMap<Node, Intervals> {
    let mut wider: HashMap<Node, Intervals> = HashMap::new();
    let mut open = vec![(parent, Intervals::from(below))];
    while let Some((node, below)) = open.pop() {
        let Some(ReachInfo { reach, parents, max_intervals }) = look(node) else { continue };
        let reach = wider.get(&node).unwrap_or(&reach);
        if !covers(reach, &below) {
            let mut all: Vec<Range<u32>> = reach.iter().cloned().chain(below).collect();
            merge_intervals(&mut all, max_intervals);
            let reach = Intervals::from(all);
            let above = parents.into_iter().filter(|_| !planted!("ancestors-not-widened"));
            open.extend(above.map(|above| (above, reach.clone())));
            wider.insert(node, reach);
        }
    }
    wider
}

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// Claims what a [link](View::link) touches. The parent and the child are written, and so are
    /// the ancestors whose reach must grow. All other ancestors of the parent are read, to rule out
    /// a cycle.
    pub fn linking(&self, parent: Node, child: Node) -> Claim<'_, Slab<T>> {
        self.planned(move |plan| plan.link(parent, child))
    }
}

impl<T: Send + Sync + 'static> NodePlanView<'_, '_, '_, T> {
    /// Names what a [link](View::link) touches: see [`Hierarchy::linking`].
    pub fn link(&mut self, parent: Node, child: Node) {
        self.write_alone(child);
        self.write_alone(parent);
        let Some(below) = self.find(child, ReachInfo::new).1 else { return };
        let wider = widened(parent, &below.reach, |node| self.find(node, ReachInfo::new).1);
        let widened = wider.into_keys().filter(|_| !planted!("widened-unclaimed"));
        widened.for_each(|node| self.write_alone(node));
        // All ancestors are read, as the child must not be among them.
        let mut open = vec![parent];
        let mut walked = HashSet::from([parent]);
        while let Some(node) = open.pop() {
            let parents = self.peek(node, |node| node.parents().to_vec()).unwrap_or_default();
            open.extend(parents.into_iter().filter(|&parent| walked.insert(parent)));
        }
    }

    /// Names what [removing](View::remove) a node touches: its sub-tree and its parents, to be
    /// written.
    pub fn remove(&mut self, node: Node) {
        self.write(node);
        let parents = self.peek(node, |node| node.parents().to_vec()).unwrap_or_default();
        parents.into_iter().for_each(|parent| self.write_alone(parent));
    }
}
