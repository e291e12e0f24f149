//! Nodes and links that come and go.

use super::reach::{Intervals, Reach, covers, joined};
use super::slab::Record;
use super::{Hierarchy, Look, Slab, View, renumber};
use crate::{Node, Refused};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use xtasking::{Claim, Context};

/// A new node looks at so many granules at most for one that has room.
const CANDIDATES: usize = 8;

/// Changes of the shape, by tasks that have claimed what is changed. What asks for a node that the task does not have panics;
/// what is [`Refused`] has changed nothing.
impl<T: Send + Sync + 'static> View<'_, T> {
    /// A new leaf under a parent, as its last child.
    ///
    /// The task writes the parent, [alone](super::At::alone) at least. The more of what is below it the task writes as well, the
    /// more granules there are where the new node may come; in one that has grown too full it asks for
    /// [a new layout](Hierarchy::renumber), by a task that follows.
    ///
    /// # Errors
    /// There is no room for one more node.
    #[track_caller]
    pub fn insert(&mut self, parent: Node, value: T, cx: &mut Context) -> Result<Node, Refused> {
        self.insert_before(parent, usize::MAX, value, cx)
    }

    /// The same, as the child of that index; as the last one if there are not so many.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn insert_before(
        &mut self,
        parent: Node,
        index: usize,
        value: T,
        cx: &mut Context,
    ) -> Result<Node, Refused> {
        let own = self.locate(parent).granule;
        let intervals = self.record_mut(parent).reach.intervals(own);
        let count = intervals.iter().map(ExactSizeIterator::len).sum::<usize>();
        let all = intervals.into_iter().flatten();
        // Those that it does not have are not asked.
        let some = all.step_by(count.div_ceil(CANDIDATES)).chain([own]);
        let free = some.filter(|&granule| self.held.has_to_write(granule));
        let granule = free.min_by_key(|&granule| self.held.get(granule).len()).unwrap_or(own);
        let node = self.put(granule, [parent].into(), value, cx)?;
        let children = &mut self.record_mut(parent).children;
        children.insert(index.min(children.len()), node);
        Ok(node)
    }

    /// The same, as the last child, in that granule: for who has laid the nodes out [himself](super::HierarchyBuilder::granule_by)
    /// and claims [granules](Hierarchy::granules) by their numbers.
    ///
    /// The task writes the granule and the parent, and of all above the parent those below which nothing has been in that
    /// granule so far.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn insert_in(
        &mut self,
        parent: Node,
        granule: u32,
        value: T,
        cx: &mut Context,
    ) -> Result<Node, Refused> {
        let wider = self.widened(parent, std::slice::from_ref(&(granule..granule + 1)));
        let node = self.put(granule, [parent].into(), value, cx)?;
        self.widen(wider);
        self.record_mut(parent).children.push(node);
        Ok(node)
    }

    /// A new root, in the least full of the granules that the task writes.
    ///
    /// # Errors
    /// There is no room for one more node.
    ///
    /// # Panics
    /// If the task writes nothing.
    #[track_caller]
    pub fn insert_root(&mut self, value: T, cx: &mut Context) -> Result<Node, Refused> {
        let written = self.held.granules().filter(|granule| granule.1).map(|granule| granule.0);
        let granule = written.min_by_key(|&granule| self.held.get(granule).len());
        self.put(granule.expect("the task writes nothing"), SmallVec::new(), value, cx)
    }

    fn put(
        &mut self,
        granule: u32,
        parents: SmallVec<[Node; 1]>,
        value: T,
        cx: &mut Context,
    ) -> Result<Node, Refused> {
        let directory = self.held.directory();
        let slab = self.held.get_mut(granule);
        let node = slab.number(directory).ok_or(Refused::TooMany(crate::node::NONE as usize))?;
        slab.put(directory, Record { node, value, parents, children: Vec::new(), reach: Reach::OWN });
        if slab.asks_for_room() {
            renumber::ask(&self.held, cx);
        }
        Ok(node)
    }

    /// Removes a node and all below it, whose data are given out, each node's before its children's.
    ///
    /// The task writes the node with all below it, and its parent. What is above reaches as far as before, until all is
    /// [renumbered](Hierarchy::renumber).
    ///
    /// # Errors
    /// The node has several parents ([unlink](Self::unlink) them before), or one below it has a parent elsewhere.
    #[track_caller]
    pub fn remove(&mut self, node: Node) -> Result<Vec<T>, Refused> {
        if let [_, parent, ..] = self.parents(node)[..] {
            return Err(Refused::Shared { node, parent });
        }
        let nodes: Vec<Node> = self.below(node).collect();
        if nodes.iter().skip(1).any(|&below| self.parents(below).len() > 1) {
            let gone: HashSet<Node> = nodes.iter().copied().collect();
            for &below in &nodes[1..] {
                if let Some(&parent) = self.parents(below).iter().find(|&parent| !gone.contains(parent)) {
                    return Err(Refused::Shared { node: below, parent });
                }
            }
        }
        // Whatever is not the task's is found out before anything is changed.
        nodes.iter().for_each(|&node| _ = self.record_mut(node));
        if let Some(&parent) = self.parents(node).first() {
            self.record_mut(parent).children.retain(|&child| child != node);
        }
        let directory = self.held.directory();
        let take = |node| {
            let at = self.locate(node);
            let record = self.held.get_mut(at.granule).take(directory, node, at.slot);
            record.expect("it was there just now").value
        };
        Ok(nodes.into_iter().map(take).collect())
    }

    /// Links a node under one more parent, as its last child. A root is no root after that.
    ///
    /// The task has claimed what [`Hierarchy::linking`] names.
    ///
    /// # Errors
    /// The child is under that parent already, or there would be a cycle.
    #[track_caller]
    pub fn link(&mut self, parent: Node, child: Node) -> Result<(), Refused> {
        if self.children(parent).contains(&child) {
            return Err(Refused::Twice { parent, child });
        }
        if let Some(cycle) = self.way(child, parent) {
            return Err(Refused::Cycle(cycle));
        }
        let below = self.standing(child).reach;
        let wider = self.widened(parent, &below);
        _ = self.record_mut(child);
        self.widen(wider);
        self.record_mut(parent).children.push(child);
        self.record_mut(child).parents.push(parent);
        Ok(())
    }

    /// Takes a node from under one of its parents. What is above that one reaches as far as before, until all is
    /// [renumbered](Hierarchy::renumber).
    ///
    /// The task writes both, [alone](super::At::alone) at least.
    ///
    /// # Errors
    /// It is no child of that parent, or it has no other one.
    #[track_caller]
    pub fn unlink(&mut self, parent: Node, child: Node) -> Result<(), Refused> {
        let Some(at) = self.parents(child).iter().position(|&above| above == parent) else {
            return Err(Refused::NoChild { parent: Some(parent), child });
        };
        if self.parents(child).len() == 1 {
            return Err(Refused::OnlyParent { parent, child });
        }
        self.record_mut(parent).children.retain(|&other| other != child);
        self.record_mut(child).parents.swap_remove(at);
        Ok(())
    }

    #[track_caller]
    fn standing(&self, node: Node) -> Standing {
        let slab = self.held.get(self.locate(node).granule);
        Standing::new(slab, self.record(node))
    }

    /// The new reaches of those that have to grow when something with that reach comes below the parent. Whatever of this is not
    /// the task's is found out here, before anything is changed.
    #[track_caller]
    fn widened(&mut self, parent: Node, below: &[Range<u32>]) -> HashMap<Node, Intervals> {
        let wider = widened(parent, below, |node| Some(self.standing(node)));
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

    /// A way down from a node to one below it; `None` if it is not below.
    fn way(&self, from: Node, to: Node) -> Option<Vec<Node>> {
        let mut climbed = vec![(to, 0)];
        let mut walked = HashSet::from([to]);
        let mut next = 0;
        while let Some(&(node, _)) = climbed.get(next) {
            if node == from {
                let mut way = vec![node];
                while next != 0 {
                    next = climbed[next].1;
                    way.push(climbed[next].0);
                }
                return Some(way);
            }
            let parents = self.parents(node).iter().filter(|&&parent| walked.insert(parent));
            climbed.extend(parents.map(|&parent| (parent, next)));
            next += 1;
        }
        None
    }
}

/// How a node stands among others.
struct Standing {
    reach: Intervals,
    parents: SmallVec<[Node; 1]>,
    /// Of intervals.
    most: usize,
}

impl Standing {
    fn new<T>(slab: &Slab<T>, record: &Record<T>) -> Self {
        let reach = record.reach.intervals(slab.granule);
        Self { reach, parents: record.parents.clone(), most: slab.limits.intervals }
    }
}

/// The new reaches of those nodes whose reach has to grow when something comes below this one: a node's reach always covers those
/// of its children, with all that they cover without need. As far as nodes are to be seen.
fn widened(
    parent: Node,
    below: &[Range<u32>],
    mut look: impl FnMut(Node) -> Option<Standing>,
) -> HashMap<Node, Intervals> {
    let mut wider: HashMap<Node, Intervals> = HashMap::new();
    let mut open = vec![(parent, Intervals::from(below))];
    while let Some((node, below)) = open.pop() {
        let Some(Standing { reach, parents, most }) = look(node) else { continue };
        let reach = wider.get(&node).unwrap_or(&reach);
        if !covers(reach, &below) {
            let mut all: Vec<Range<u32>> = reach.iter().cloned().chain(below).collect();
            joined(&mut all, most);
            let reach = Intervals::from(all);
            open.extend(parents.into_iter().map(|above| (above, reach.clone())));
            wider.insert(node, reach);
        }
    }
    wider
}

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// A claim to what a [link](View::link) touches: the parent and the child, and of those above the parent all, to see whether
    /// there would be a cycle; to be written only those that do not reach where the child does.
    pub fn linking(&self, parent: Node, child: Node) -> Claim<'_, Slab<T>> {
        self.planned(move |look| look.link(parent, child))
    }
}

impl<T: Send + Sync + 'static> Look<'_, '_, '_, T> {
    /// Names what a [link](View::link) touches: see [`Hierarchy::linking`].
    pub fn link(&mut self, parent: Node, child: Node) {
        self.write_alone(child);
        self.write_alone(parent);
        let Some(below) = self.find(child, Standing::new).1 else { return };
        let wider = widened(parent, &below.reach, |node| self.find(node, Standing::new).1);
        wider.into_keys().for_each(|node| self.write_alone(node));
        // All above, as the child must not be among them.
        let mut open = vec![parent];
        let mut walked = HashSet::from([parent]);
        while let Some(node) = open.pop() {
            let parents = self.see(node, |seen| seen.parents().to_vec()).unwrap_or_default();
            open.extend(parents.into_iter().filter(|&parent| walked.insert(parent)));
        }
    }

    /// Names what it takes to [remove](View::remove) a node, as far as it can be: the node with all below it, and its parent.
    pub fn remove(&mut self, node: Node) {
        self.write(node);
        let parents = self.see(node, |seen| seen.parents().to_vec()).unwrap_or_default();
        parents.into_iter().for_each(|parent| self.write_alone(parent));
    }
}
