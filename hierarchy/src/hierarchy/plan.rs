//! Plans of claims, and what a plan reads.

use super::Hierarchy;
use super::claim::NodeAccess;
use super::slab::{Location, Record, Slab};
use crate::Node;
use std::ops::Range;
use xtasking::{Claim, claims::PlanView};

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// Claims the nodes that `plan` names, which may depend on the data that it reads. See
    /// [`xtasking::Granules::planned`].
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_hierarchy::{Hierarchy, Node, View, generate};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Hierarchy::builder(generate::complete(2, 8)?).build(&rt, |_| 0u32);
    /// // Down to a leaf on a given path: the nodes on the path are read, the leaf is written.
    /// let dice = [1, 0, 0, 1, 1, 0, 1];
    /// let task = rt.task(()).claim(tree.planned(move |plan| {
    ///     let mut node = Node(0);
    ///     for turn in dice {
    ///         let Some(child) = plan.peek(node, |node| node.children()[turn]) else { return };
    ///         node = child;
    ///     }
    ///     plan.write(node);
    /// }));
    /// let leaf = task.submit_with(move |(), held, _| {
    ///     let mut view = View::new(held);
    ///     let leaf = dice.iter().fold(Node(0), |node, &turn| view.children(node)[turn]);
    ///     view[leaf] += 1;
    ///     view[leaf]
    /// });
    /// assert_eq!(leaf.join()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn planned(
        &self,
        mut plan: impl FnMut(&mut NodePlanView<'_, '_, '_, T>) + Send + 'static,
    ) -> Claim<'_, Slab<T>> {
        self.granules.planned(move |sight| plan(&mut NodePlanView { sight }))
    }
}

/// What a [plan](Hierarchy::planned) of a claim reads and names.
pub struct NodePlanView<'p, 's, 'h, T> {
    sight: &'p mut PlanView<'s, 'h, Slab<T>>,
}

/// A node as a plan or a [survey](Hierarchy::survey) reads it.
pub struct NodeView<'r, T> {
    pub(super) record: &'r Record<T>,
}

impl<'r, T> NodeView<'r, T> {
    /// Its number.
    pub fn node(&self) -> Node {
        self.record.node
    }

    /// Its data.
    pub fn value(&self) -> &'r T {
        &self.record.value
    }

    /// Its children, in order.
    pub fn children(&self) -> &'r [Node] {
        &self.record.children
    }

    /// Its parents, in no particular order.
    pub fn parents(&self) -> &'r [Node] {
        &self.record.parents
    }
}

impl<T: Send + Sync + 'static> NodePlanView<'_, '_, '_, T> {
    /// Names a node and its descendants, to be read.
    pub fn read(&mut self, node: Node) {
        self.name(NodeAccess { node, alone: false, write: false });
    }

    /// Names a node and its descendants, to be written.
    pub fn write(&mut self, node: Node) {
        self.name(NodeAccess { node, alone: false, write: true });
    }

    /// Names a node without its descendants, to be read.
    pub fn read_alone(&mut self, node: Node) {
        self.name(NodeAccess { node, alone: true, write: false });
    }

    /// Names a node without its descendants, to be written.
    pub fn write_alone(&mut self, node: Node) {
        self.name(NodeAccess { node, alone: true, write: true });
    }

    /// Reads a node, which thereby becomes one that the task reads. Returns `None` if the node does
    /// not exist, or if it is being written; in the latter case the plan may end, as it is called
    /// again when the task holds the node.
    pub fn peek<R>(&mut self, node: Node, read: impl FnOnce(NodeView<'_, T>) -> R) -> Option<R> {
        let mut read = Some(read);
        self.find(node, |_, record| read.take().map(|read| read(NodeView { record }))).1?
    }

    pub(super) fn name(&mut self, access: NodeAccess) {
        let NodeAccess { node, alone, write } = access;
        let directory = self.sight.directory();
        let Some(Location { granule, .. }) = Location::find(directory, node) else { return };
        let reach = if alone { Some(granule..granule + 1) } else { Location::reach(directory, node) };
        match reach {
            // The directory's entry is current once the task holds `granule`, which this range
            // includes.
            Some(reach) if reach.contains(&granule) => self.add(reach, write),
            _ => self.name_by_record(node, write),
        }
    }

    fn add(&mut self, range: Range<u32>, write: bool) {
        if write { self.sight.write(range) } else { self.sight.read(range) }
    }

    /// Names a node whose reach only its record says.
    #[cold]
    fn name_by_record(&mut self, node: Node, write: bool) {
        let (at, reach) = self.find(node, |slab, record| record.reach.intervals(slab.granule));
        let own = at.map(|granule| granule..granule + 1);
        own.into_iter().chain(reach.into_iter().flatten()).for_each(|range| self.add(range, write));
    }

    /// Reads a node's record. Returns the granule, if the node exists, and the result, if it could
    /// be read.
    pub(super) fn find<R>(
        &mut self,
        node: Node,
        mut read: impl FnMut(&Slab<T>, &Record<T>) -> R,
    ) -> (Option<u32>, Option<R>) {
        let mut at = Location::find(self.sight.directory(), node);
        while let Some(Location { granule, slot }) = at {
            let read = |slab: &Slab<T>| slab.get(node, slot).map(|record| read(slab, record));
            match self.sight.peek(granule, read) {
                Some(Some(found)) => return (Some(granule), Some(found)),
                Some(None) => {
                    // The node was removed or has moved.
                    let now = Location::find(self.sight.directory(), node);
                    at = now.filter(|_| now != at);
                }
                None => return (Some(granule), None),
            }
        }
        (None, None)
    }
}
