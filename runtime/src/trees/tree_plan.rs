//! What a plan sees of a tree, and how it names nodes.

use super::inner::TreeInner;
use super::node::{NONE, Node};
use super::probe::PlanProbe;
use super::rights::Target;
use crate::sync::Acquire;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::any::Any;

/// Ancestors that a plan to link names one by one.
const MOST_ANCESTORS: usize = 128;

/// The view of a tree that a [plan](super::Tree::planned) has, and by which it names its claim.
///
/// What it looks at the task holds from then on to its end, at least to read it. If other tasks are
/// in the way, the plan finds nothing there: it may go on or return, and is called again when the
/// task holds all that was named until then.
pub struct TreePlan<'s, 'p, D: Send + Sync + 'static> {
    pub(super) tree: &'s TreeInner<D>,
    pub(super) probe: &'s mut PlanProbe<'p>,
}

impl<'s, D: Send + Sync + 'static> TreePlan<'s, '_, D> {
    /// Returns the root.
    pub fn root(&self) -> Node {
        super::TreeTable::ROOT
    }

    /// Names a node that the task reads, with all nodes below it, by links as well.
    pub fn read(&mut self, node: Node) {
        self.name(node, false, false);
    }

    /// Names a node that the task writes, with all nodes below it, by links as well.
    pub fn write(&mut self, node: Node) {
        self.name(node, false, true);
    }

    /// Names a node that the task reads, without those below.
    pub fn read_alone(&mut self, node: Node) {
        self.name(node, true, false);
    }

    /// Names a node that the task writes, without those below. A plan that both looks at the node
    /// and writes it should name it first: it is had in one step then.
    pub fn write_alone(&mut self, node: Node) {
        self.name(node, true, true);
    }

    /// Names what it takes to remove a node with all below it: these, its parent alone, and alone
    /// the nodes to which links lead from there.
    pub fn remove(&mut self, node: Node) {
        self.write_parent(node);
        if self.hold_all(node) {
            self.probe.hold_ends(node);
        }
        // The node may have moved until it was had; now it does not.
        self.write_parent(node);
    }

    /// Names what it takes to move a node with all below it to another parent: these, both parents
    /// alone, and to read what is below by links. If the node has many nodes below and the parent
    /// few, it names some more.
    pub fn relocate(&mut self, node: Node, to: Node) {
        self.write_parent(node);
        self.name(to, true, true);
        if self.hold_all(node) {
            self.name(node, false, false);
        }
        self.write_parent(node);
        self.open_way(node, to);
    }

    /// Names what it takes to make a node a child of one more parent: both alone, to write, and all
    /// ancestors of the parent alone, to read. So no other link makes one of these its child
    /// meanwhile. If the parent has more than 128 ancestors, it names the whole tree.
    pub fn link(&mut self, parent: Node, node: Node) {
        let is_held = self.name(parent, true, true);
        self.name(node, true, true);
        let (mut next, mut seen) = (Vec::from([(parent, is_held)]), BTreeSet::new());
        while let Some((below, is_held)) = next.pop() {
            if seen.len() > MOST_ANCESTORS {
                return self.read(self.root());
            }
            for above in self.parents_of(below, is_held) {
                if seen.insert(above) && !planted!("tree-link-without-ancestors") {
                    let is_held = self.name(above, true, false);
                    next.push((above, is_held));
                }
            }
        }
    }

    /// Names what it takes to take a node out of the children of a parent: both alone. If the node
    /// is below that parent without a link, it moves to the next of its parents, and the plan names
    /// what that takes.
    pub fn unlink(&mut self, parent: Node, node: Node) {
        self.name(parent, true, true);
        // What has to move is not held alone before: that would have to be widened.
        let moves = self.peek_parent(node) == Some(parent);
        let is_held = if moves { self.hold_all(node) } else { self.name(node, true, true) };
        if let [own, heir, further @ ..] = &*self.parents_of(node, is_held)
            && *own == parent
            && *heir != parent
            && !further.contains(&parent)
        {
            self.hold_all(node);
            self.name(*heir, true, true);
            self.open_way(node, *heir);
        }
    }

    /// Returns all parents of a node, the one that it is below first, like [`peek`](Self::peek).
    pub fn parents(&mut self, node: Node) -> Option<Vec<Node>> {
        let is_held = self.name(node, true, false);
        is_held.then(|| self.parents_of(node, is_held))
    }

    /// Returns the parents of a node; of one that is not held only that which it is below now.
    fn parents_of(&self, node: Node, is_held: bool) -> Vec<Node> {
        if is_held {
            // SAFETY: as for `peek`.
            unsafe { self.tree.table.parents(node.index) }
        } else {
            self.peek_parent(node).into_iter().collect()
        }
    }

    /// Names what becomes gates if a node comes below this one.
    fn open_way(&mut self, node: Node, to: Node) {
        let table = self.probe.table;
        // Acquire pairs with the Release of a change; both nodes are held, or the plan runs again.
        let place = |node| table.find(node).map(|slot| (slot.gate.load(Acquire), slot.cluster.load(Acquire)));
        if let (Some((gate, _)), Some((NONE, cluster))) = (place(node), place(to))
            && gate != NONE
            && let Some(top) = table.nodes.get(cluster)
        {
            self.hold_all(top.node(cluster));
        }
    }

    /// Names a node to write, with all below it but what is there by links. Returns true if it is
    /// held.
    fn hold_all(&mut self, node: Node) -> bool {
        self.probe.hold(&Target { node, alone: false, write: true })
    }

    /// Returns the data of a node, which the task claims to read. `None` if other tasks are in the
    /// way, or the node does not exist. A [poisoned](super::Tree::is_poisoned) node yields `None`
    /// as well, as the task will fail; unless the claim is [for poisoned nodes
    /// too](super::TreeClaim::even_poisoned).
    pub fn peek(&mut self, node: Node) -> Option<&'s D> {
        let is_held = self.name(node, true, false);
        if !is_held || !self.probe.even_poisoned && self.probe.table.is_poisoned(node) {
            return None;
        }
        // SAFETY: the claim holds the node, to read at least, until the plan has ended: only then
        // may it be given back. Nothing is written before the body runs.
        Some(unsafe { self.tree.read(node.index) })
    }

    /// Returns the children of a node in their order, like [`peek`](Self::peek).
    pub fn children(&mut self, node: Node) -> Option<&'s [Node]> {
        let table: &'s super::TreeTable = &self.tree.table;
        // SAFETY: as for `peek`.
        self.name(node, true, false).then(|| unsafe { table.slot(node.index).children() }.as_slice())
    }

    /// Returns the data of the link from a node to the child that has this index, like
    /// [`peek`](Self::peek) at the node. `None` also if there is no such child, or the link has no
    /// data of this type.
    pub fn link_data<L: Any>(&mut self, parent: Node, index: usize) -> Option<&'s L> {
        let table: &'s super::TreeTable = &self.tree.table;
        self.peek(parent)?;
        // SAFETY: as for `peek`.
        unsafe { table.link_value(parent.index, index) }?.downcast_ref()
    }

    /// Returns the parent of a node, which the task claims to read alone: so it stays the parent.
    /// `None` if other tasks are in the way, or the node does not exist or is the root.
    pub fn parent(&mut self, node: Node) -> Option<Node> {
        if self.name(node, true, false) { self.peek_parent(node) } else { None }
    }

    /// Returns true if the node exists. It may be removed meanwhile, unless the task has claimed
    /// it.
    pub fn contains(&self, node: Node) -> bool {
        self.probe.table.find(node).is_some()
    }

    fn name(&mut self, node: Node, alone: bool, write: bool) -> bool {
        self.probe.add(Target { node, alone, write })
    }

    fn write_parent(&mut self, node: Node) {
        if let Some(parent) = self.peek_parent(node) {
            self.name(parent, true, true);
        }
    }

    /// Returns the parent that a node has now, which may change unless the task has claimed it.
    fn peek_parent(&self, node: Node) -> Option<Node> {
        let table = self.probe.table;
        // Acquire pairs with the Release of a move.
        let parent = table.find(node)?.parent.load(Acquire);
        table.nodes.get(parent).map(|slot| slot.node(parent))
    }
}
