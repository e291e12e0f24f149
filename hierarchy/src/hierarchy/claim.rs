//! Nodes that a task reads or writes.

use super::Hierarchy;
use super::slab::Slab;
use crate::Node;
use smallvec::SmallVec;
use xtasking::Claim;
use xtasking::claims::IntoClaim;

/// A node that a task names, with its descendants unless it is [alone](Self::alone); made by
/// [`Hierarchy::node`].
#[derive(Clone, Copy, Debug)]
#[must_use = "call `read` or `write` to claim the node"]
pub struct NodeRef<'g, T: Send + Sync + 'static> {
    hierarchy: &'g Hierarchy<T>,
    node: Node,
    alone: bool,
}

/// Nodes that a task reads or writes: a claim for
/// [`TaskBuilder::claim`](xtasking::TaskBuilder::claim).
///
/// ```
/// use xtasking::Runtime;
/// use xtasking_hierarchy::{Hierarchy, Node, View, generate};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let tree = Hierarchy::builder(generate::complete(2, 4)?).build(&rt, |_| 1u32);
/// // The sub-tree of node 1, and the topmost node of the other half.
/// let claim = tree.node(Node(1)).read().and(tree.node(Node(2)).alone().write());
/// let task = rt.task(()).claim(claim);
/// let sum = task.submit_with(|(), held, _| {
///     let mut view = View::new(held);
///     view[Node(2)] = view.subtree(Node(1)).map(|node| view[node]).sum();
///     view[Node(2)]
/// });
/// assert_eq!(sum.join()?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a claim does nothing until a task gets it"]
pub struct NodeClaim<'g, T: Send + Sync + 'static> {
    hierarchy: &'g Hierarchy<T>,
    accesses: SmallVec<[NodeAccess; 2]>,
    unordered: bool,
}

/// A node to be read or written, alone or with its descendants.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeAccess {
    pub node: Node,
    pub alone: bool,
    pub write: bool,
}

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// Names a node and all its descendants.
    ///
    /// If the node does not exist when the claim is granted, the task holds nothing for it: see
    /// [`View::find`](super::View::find).
    pub fn node(&self, node: Node) -> NodeRef<'_, T> {
        NodeRef { hierarchy: self, node, alone: false }
    }

    /// Claims all nodes for reading.
    pub fn read_all(&self) -> Claim<'_, Slab<T>> {
        self.granules.read(0..self.granules.count())
    }

    /// Claims all nodes for writing.
    pub fn write_all(&self) -> Claim<'_, Slab<T>> {
        self.granules.write(0..self.granules.count())
    }

    /// Claims, for writing, all nodes of the granules that are poisoned when the claim is granted,
    /// so that the task can repair them; see [`xtasking::Granules::write_poisoned`].
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_hierarchy::{Hierarchy, Node, View, generate};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// // Each node has a value and a copy of it.
    /// let tree = Hierarchy::builder(generate::complete(2, 4)?).build(&rt, |_| (1, 1));
    /// let half = rt.task(()).claim(tree.node(Node(1)).write()).submit_with(|(), held, _| {
    ///     View::new(held)[Node(3)].0 = 7;
    ///     panic!("half-way");
    /// });
    /// assert!(half.join().is_err());
    ///
    /// let mend = rt.task(()).claim(tree.write_poisoned()).submit_with(|(), held, _| {
    ///     let mut view = View::new(held);
    ///     let torn = view.all().filter(|(_, value)| value.0 != value.1);
    ///     let torn: Vec<_> = torn.map(|(node, _)| node).collect();
    ///     torn.iter().for_each(|&node| view[node].0 = view[node].1);
    ///     torn
    /// });
    /// assert_eq!(mend.join()?, [Node(3)]);
    /// let read = rt.task(()).claim(tree.node(Node(3)).read());
    /// let value = read.submit_with(|(), held, _| View::new(held)[Node(3)]);
    /// assert_eq!(value.join()?, (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_poisoned(&self) -> Claim<'_, Slab<T>> {
        self.granules.write_poisoned()
    }
}

impl<'g, T: Send + Sync + 'static> NodeRef<'g, T> {
    /// Names the node without its descendants.
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// Claims the node for reading.
    pub fn read(self) -> NodeClaim<'g, T> {
        self.claim(false)
    }

    /// Claims the node for writing.
    pub fn write(self) -> NodeClaim<'g, T> {
        self.claim(true)
    }

    /// The node, which must be of `hierarchy`, and whether it is alone.
    #[track_caller]
    pub(super) fn of(self, hierarchy: &Hierarchy<T>) -> (Node, bool) {
        check(self.hierarchy, hierarchy);
        (self.node, self.alone)
    }

    fn claim(self, write: bool) -> NodeClaim<'g, T> {
        let Self { hierarchy, node, alone } = self;
        NodeClaim {
            hierarchy,
            accesses: SmallVec::from_iter([NodeAccess { node, alone, write }]),
            unordered: false,
        }
    }
}

#[track_caller]
fn check<T: Send + Sync + 'static>(one: &Hierarchy<T>, other: &Hierarchy<T>) {
    let is_one = std::ptr::eq(one.granules.directory(), other.granules.directory());
    assert!(is_one, "the nodes must be of the same hierarchy");
}

impl<T: Send + Sync + 'static> NodeClaim<'_, T> {
    /// Adds other nodes. A node that is named both for reading and for writing is written.
    ///
    /// # Panics
    ///
    /// Panics if they are nodes of another hierarchy.
    pub fn and(mut self, other: NodeClaim<'_, T>) -> Self {
        check(self.hierarchy, other.hierarchy);
        self.accesses.extend(other.accesses);
        self.unordered |= other.unordered;
        self
    }

    /// Lets the claim, where it only reads, be granted before earlier writers that wait: see
    /// [`Claim::unordered`].
    pub fn unordered(self) -> Self {
        Self { unordered: true, ..self }
    }
}

impl<'g, T: Send + Sync + 'static> NodeClaim<'g, T> {
    /// Claims nodes for reading, each alone or not.
    pub(super) fn reading(hierarchy: &'g Hierarchy<T>, nodes: impl Iterator<Item = (Node, bool)>) -> Self {
        let accesses = nodes.map(|(node, alone)| NodeAccess { node, alone, write: false });
        Self { hierarchy, accesses: accesses.collect(), unordered: false }
    }

    /// Lets the task run even if data are poisoned, to repair what it writes: see
    /// [`Claim::even_poisoned`]. It must repair whatever is [poisoned](super::View::is_poisoned) in
    /// the granules that it holds, which may include other nodes.
    pub fn even_poisoned(self) -> Claim<'g, Slab<T>> {
        Claim::from(self).even_poisoned()
    }
}

impl<'g, T: Send + Sync + 'static> From<NodeClaim<'g, T>> for Claim<'g, Slab<T>> {
    fn from(claim: NodeClaim<'g, T>) -> Self {
        let NodeClaim { hierarchy, accesses, unordered } = claim;
        let claim = hierarchy.planned(move |plan| accesses.iter().for_each(|&access| plan.name(access)));
        if unordered { claim.unordered() } else { claim }
    }
}

impl<'g, T: Send + Sync + 'static> IntoClaim for NodeClaim<'g, T> {
    type Claim = Claim<'g, Slab<T>>;

    fn into_claim(self) -> Self::Claim {
        self.into()
    }
}
