//! What a task says it touches.

use super::Hierarchy;
use super::slab::{Location, Record, Slab};
use crate::Node;
use smallvec::SmallVec;
use std::ops::Range;
use xtasking::{Claim, Sight};

/// A node that a task names, with all below it unless it is [alone](Self::alone); made by [`Hierarchy::node`].
#[derive(Clone, Copy, Debug)]
#[must_use = "it says nothing about reading or writing"]
pub struct At<'g, T: Send + Sync + 'static> {
    hierarchy: &'g Hierarchy<T>,
    node: Node,
    alone: bool,
}

/// Nodes that a task reads or writes: a claim for [`TaskBuilder::claim`](xtasking::TaskBuilder::claim).
///
/// ```
/// use xtasking::Runtime;
/// use xtasking_hierarchy::{Hierarchy, Node, View, generate};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let tree = Hierarchy::builder(generate::complete(2, 4)?).build(&rt, |_| 1u32);
/// // All below 1, and of the other half its topmost node.
/// let claim = tree.node(Node(1)).read().and(tree.node(Node(2)).alone().write());
/// let task = rt.task(()).claim(claim);
/// let sum = task.submit_with(|(), held, _| {
///     let mut view = View::new(held);
///     view[Node(2)] = view.below(Node(1)).map(|node| view[node]).sum();
///     view[Node(2)]
/// });
/// assert_eq!(sum.join()?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it is for a task"]
pub struct Touch<'g, T: Send + Sync + 'static> {
    hierarchy: &'g Hierarchy<T>,
    named: SmallVec<[Named; 2]>,
    unordered: bool,
}

#[derive(Clone, Copy, Debug)]
struct Named {
    node: Node,
    alone: bool,
    write: bool,
}

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// A node and all below it.
    ///
    /// If there is no such node when the task has what it claims, it has nothing by this name: see [`View::find`](super::View::find).
    pub fn node(&self, node: Node) -> At<'_, T> {
        At { hierarchy: self, node, alone: false }
    }

    /// A claim to all nodes, to read them.
    pub fn read_all(&self) -> Claim<'_, Slab<T>> {
        self.granules.read(0..self.granules.count())
    }

    /// A claim to all nodes, to write them.
    pub fn write_all(&self) -> Claim<'_, Slab<T>> {
        self.granules.write(0..self.granules.count())
    }

    /// A claim to write all nodes of granules that are poisoned by the time, for a task that mends them; see
    /// [`xtasking::Granules::write_poisoned`].
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_hierarchy::{Hierarchy, Node, View, generate};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// // A node's value, and a copy of it.
    /// let tree = Hierarchy::builder(generate::complete(2, 4)?).build(&rt, |_| (1, 1));
    /// let half = rt.task(()).claim(tree.node(Node(1)).write()).submit_with(|(), held, _| {
    ///     View::new(held)[Node(3)].0 = 7;
    ///     panic!("half-way");
    /// });
    /// assert!(half.join().is_err());
    ///
    /// let mend = rt.task(()).claim(tree.write_poisoned()).submit_with(|(), held, _| {
    ///     let mut view = View::new(held);
    ///     let torn: Vec<_> = view.all().filter(|(_, value)| value.0 != value.1).map(|(node, _)| node).collect();
    ///     torn.iter().for_each(|&node| view[node].0 = view[node].1);
    ///     torn
    /// });
    /// assert_eq!(mend.join()?, [Node(3)]);
    /// let value = rt.task(()).claim(tree.node(Node(3)).read()).submit_with(|(), held, _| View::new(held)[Node(3)]);
    /// assert_eq!(value.join()?, (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_poisoned(&self) -> Claim<'_, Slab<T>> {
        self.granules.write_poisoned()
    }

    /// A claim to the nodes that `plan` names, which depends on what it sees. See [`xtasking::Granules::planned`].
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_hierarchy::{Hierarchy, Node, View, generate};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Hierarchy::builder(generate::complete(2, 8)?).build(&rt, |_| 0u32);
    /// // Down to a leaf, as somebody's dice say: what is on the way is read, the leaf is written.
    /// let dice = [1, 0, 0, 1, 1, 0, 1];
    /// let task = rt.task(()).claim(tree.planned(move |look| {
    ///     let mut node = Node(0);
    ///     for turn in dice {
    ///         let Some(child) = look.see(node, |seen| seen.children()[turn]) else { return };
    ///         node = child;
    ///     }
    ///     look.write(node);
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
        mut plan: impl FnMut(&mut Look<'_, '_, '_, T>) + Send + 'static,
    ) -> Claim<'_, Slab<T>> {
        self.granules.planned(move |sight| plan(&mut Look { sight }))
    }
}

impl<'g, T: Send + Sync + 'static> At<'g, T> {
    /// The node without what is below it.
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// To be read.
    pub fn read(self) -> Touch<'g, T> {
        self.touch(false)
    }

    /// To be written.
    pub fn write(self) -> Touch<'g, T> {
        self.touch(true)
    }

    /// The node of this hierarchy, and whether it is alone.
    #[track_caller]
    pub(super) fn of(self, hierarchy: &Hierarchy<T>) -> (Node, bool) {
        check(self.hierarchy, hierarchy);
        (self.node, self.alone)
    }

    fn touch(self, write: bool) -> Touch<'g, T> {
        let Self { hierarchy, node, alone } = self;
        Touch { hierarchy, named: SmallVec::from_iter([Named { node, alone, write }]), unordered: false }
    }
}

#[track_caller]
fn check<T: Send + Sync + 'static>(one: &Hierarchy<T>, other: &Hierarchy<T>) {
    let is_one = std::ptr::eq(one.granules.directory(), other.granules.directory());
    assert!(is_one, "the nodes are of one hierarchy");
}

impl<T: Send + Sync + 'static> Touch<'_, T> {
    /// These as well. What is named to be read and to be written is written.
    ///
    /// # Panics
    ///
    /// If they are nodes of another hierarchy.
    pub fn and(mut self, other: Touch<'_, T>) -> Self {
        check(self.hierarchy, other.hierarchy);
        self.named.extend(other.named);
        self.unordered |= other.unordered;
        self
    }

    /// Lets the task, where it only reads, come before tasks that write there and were spawned earlier: see
    /// [`Claim::unordered`].
    pub fn unordered(self) -> Self {
        Self { unordered: true, ..self }
    }
}

impl<'g, T: Send + Sync + 'static> Touch<'g, T> {
    /// These nodes, each alone or not.
    pub(super) fn to_read(hierarchy: &'g Hierarchy<T>, nodes: impl Iterator<Item = (Node, bool)>) -> Self {
        let named = nodes.map(|(node, alone)| Named { node, alone, write: false });
        Self { hierarchy, named: named.collect(), unordered: false }
    }

    /// For a task that runs even where data are poisoned, to mend what it writes: see [`Claim::even_poisoned`]. So it mends
    /// whatever is [poisoned](super::View::is_poisoned) of what it has, which may be more than these nodes.
    pub fn even_poisoned(self) -> Claim<'g, Slab<T>> {
        Claim::from(self).even_poisoned()
    }
}

impl<'g, T: Send + Sync + 'static> From<Touch<'g, T>> for Claim<'g, Slab<T>> {
    fn from(touch: Touch<'g, T>) -> Self {
        let Touch { hierarchy, named, unordered } = touch;
        let claim = hierarchy.planned(move |look| named.iter().for_each(|&named| look.name(named)));
        if unordered { claim.unordered() } else { claim }
    }
}

/// What a [plan](Hierarchy::planned) sees, and names.
pub struct Look<'p, 's, 'h, T> {
    sight: &'p mut Sight<'s, 'h, Slab<T>>,
}

/// A node as a plan or a [survey](Hierarchy::survey) sees it.
pub struct Seen<'r, T> {
    pub(super) record: &'r Record<T>,
}

impl<'r, T> Seen<'r, T> {
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

    /// Its parents, in no order.
    pub fn parents(&self) -> &'r [Node] {
        &self.record.parents
    }
}

impl<T: Send + Sync + 'static> Look<'_, '_, '_, T> {
    /// Names a node with all below it, to be read.
    pub fn read(&mut self, node: Node) {
        self.name(Named { node, alone: false, write: false });
    }

    /// Names a node with all below it, to be written.
    pub fn write(&mut self, node: Node) {
        self.name(Named { node, alone: false, write: true });
    }

    /// Names a node without what is below it, to be read.
    pub fn read_alone(&mut self, node: Node) {
        self.name(Named { node, alone: true, write: false });
    }

    /// Names a node without what is below it, to be written.
    pub fn write_alone(&mut self, node: Node) {
        self.name(Named { node, alone: true, write: true });
    }

    /// Looks at a node, which is one of those that the task reads from then on. `None`: it is being written just now, and the
    /// plan may end, as it will be called again when the task has the node; or there is no such node.
    pub fn see<R>(&mut self, node: Node, look: impl FnOnce(Seen<'_, T>) -> R) -> Option<R> {
        let mut look = Some(look);
        self.find(node, |_, record| look.take().map(|look| look(Seen { record }))).1?
    }

    fn name(&mut self, named: Named) {
        let Named { node, alone, write } = named;
        let directory = self.sight.directory();
        let Some(Location { granule, .. }) = Location::find(directory, node) else { return };
        let reach = if alone { Some(granule..granule + 1) } else { Location::reach(directory, node) };
        match reach {
            // What the directory says is true when the task has the granule, which is among these then.
            Some(reach) if reach.contains(&granule) => self.add(reach, write),
            _ => self.name_by_record(node, write),
        }
    }

    fn add(&mut self, range: Range<u32>, write: bool) {
        if write { self.sight.write(range) } else { self.sight.read(range) }
    }

    /// Names a node of which only its record says how far it reaches.
    #[cold]
    fn name_by_record(&mut self, node: Node, write: bool) {
        let (at, reach) = self.find(node, |slab, record| record.reach.intervals(slab.granule));
        let own = at.map(|granule| granule..granule + 1);
        own.into_iter().chain(reach.into_iter().flatten()).for_each(|range| self.add(range, write));
    }

    /// Looks at a node's record. Returns its granule as well, if there is such a node.
    pub(super) fn find<R>(
        &mut self,
        node: Node,
        mut look: impl FnMut(&Slab<T>, &Record<T>) -> R,
    ) -> (Option<u32>, Option<R>) {
        let mut at = Location::find(self.sight.directory(), node);
        while let Some(Location { granule, slot }) = at {
            let look = |slab: &Slab<T>| slab.get(node, slot).map(|record| look(slab, record));
            match self.sight.see(granule, look) {
                Some(Some(found)) => return (Some(granule), Some(found)),
                Some(None) => {
                    // It has gone, or has moved meanwhile.
                    let now = Location::find(self.sight.directory(), node);
                    at = now.filter(|_| now != at);
                }
                None => return (Some(granule), None),
            }
        }
        (None, None)
    }
}
