//! The nodes that a running task holds, and their data.

use super::change::Holder;
use super::error::TreeError;
use super::inner::TreeInner;
use super::node::Node;
use super::subtree::{Subtree, SubtreeMut};
use super::tree::TreeRef;
use crate::sync::Relaxed;
use alloc::vec::Vec;
use core::fmt;

/// The nodes that a task has claimed, with their data, while it runs. See
/// [`TaskBuilder::claim`](crate::TaskBuilder::claim).
///
/// A node that the task has not claimed, or that does not exist any more, is an error: the body
/// decides what to do about it. Nothing is poisoned unless the task panics.
pub struct Nodes<'h, D: Send + Sync + 'static> {
    tree: &'h TreeInner<D>,
    pub(super) holder: Holder<'h>,
    /// Slot of the task's epoch, which keeps the tree.
    operation: u8,
}

impl<'h, D: Send + Sync + 'static> Nodes<'h, D> {
    pub(super) fn new(tree: &'h TreeInner<D>, holder: Holder<'h>, operation: u8) -> Self {
        Self { tree, holder, operation }
    }

    /// Returns the tree, to make claims for follow-ups of this task. Tasks of other spawners need a
    /// [handle](super::Tree).
    pub fn tree(&self) -> TreeRef<'h, D> {
        self.tree.within(self.operation)
    }

    /// Returns true if the node exists and the task may read it.
    pub fn has(&self, node: Node) -> bool {
        self.holder.covered(node, false).is_ok()
    }

    /// Returns true if the node exists and the task may write it.
    pub fn has_to_write(&self, node: Node) -> bool {
        self.holder.covered(node, true).is_ok()
    }

    /// Returns the data of a node.
    ///
    /// # Errors
    ///
    /// If the node does not exist, or the task has not claimed it.
    #[inline]
    pub fn get(&self, node: Node) -> Result<&D, TreeError> {
        self.holder.covered(node, false)?;
        // SAFETY: the claim covers the node; the shared borrow of `self` excludes changes.
        Ok(unsafe { self.tree.read(node.index) })
    }

    /// Returns the data of a node, to change them.
    ///
    /// # Errors
    ///
    /// If the node does not exist, or the task has not claimed it to write it.
    #[inline]
    pub fn get_mut(&mut self, node: Node) -> Result<&mut D, TreeError> {
        self.holder.written(node)?;
        // SAFETY: the claim covers the node to write it; the exclusive borrow of `self` excludes
        // any other access.
        Ok(unsafe { self.tree.write(node.index) })
    }

    /// Returns the children of a node, in their order. Those by links are among them.
    ///
    /// # Errors
    ///
    /// If the node does not exist, or the task has not claimed it.
    #[inline]
    pub fn children(&self, node: Node) -> Result<&[Node], TreeError> {
        let slot = self.holder.covered(node, false)?;
        // SAFETY: the claim covers the node; the shared borrow of `self` excludes changes.
        Ok(unsafe { slot.children() })
    }

    /// Returns the parent of a node; `None` for the root. Of several parents it is the one that the
    /// node is below without a [link](Self::link).
    ///
    /// # Errors
    ///
    /// If the node does not exist, or the task has not claimed it. (It need not have claimed the
    /// parent.)
    pub fn parent(&self, node: Node) -> Result<Option<Node>, TreeError> {
        let slot = self.holder.covered(node, false)?;
        Ok(self.holder.parent(slot))
    }

    /// Returns all parents of a node: the one that it is below first, then one for each
    /// [link](Self::link). The root has none.
    ///
    /// # Errors
    ///
    /// As for [`parent`](Self::parent).
    pub fn parents(&self, node: Node) -> Result<Vec<Node>, TreeError> {
        self.holder.covered(node, false)?;
        // SAFETY: the claim covers the node; the shared borrow of `self` excludes changes.
        Ok(unsafe { self.holder.table.parents(node.index) })
    }

    /// Returns an iterator over a node and all below it with their data, each before those below.
    /// It follows links, and each node comes once.
    ///
    /// # Errors
    ///
    /// If the node does not exist, or the task has not claimed it with all below.
    pub fn subtree(&self, node: Node) -> Result<Subtree<'_, D>, TreeError> {
        self.covers_all(node, false)?;
        // SAFETY: the claim covers the whole sub-tree; the shared borrow of `self` excludes
        // changes.
        Ok(unsafe { Subtree::new(self.tree, node) })
    }

    /// Returns an iterator over a node and all below it with their data, to change them. It follows
    /// links. Each node comes once, before those below, and counts as written when it comes.
    ///
    /// # Errors
    ///
    /// If the node does not exist, or the task has not claimed it with all below to write them.
    pub fn subtree_mut(&mut self, node: Node) -> Result<SubtreeMut<'_, D>, TreeError> {
        self.covers_all(node, true)?;
        // SAFETY: the claim covers the whole sub-tree to write it; the exclusive borrow of `self`
        // excludes any other access.
        Ok(unsafe { SubtreeMut::new(self.tree, node, self.holder.stamp) })
    }

    /// Adds a leaf behind the children of a node, which the task has claimed to write (alone, at
    /// least). The task holds the leaf as well, and so can build a whole sub-tree there.
    ///
    /// To insert very many leaves below one node, claim it with all below: then they need no claims
    /// of their own.
    ///
    /// # Errors
    ///
    /// If the node does not exist, or the task has not claimed it to write it.
    pub fn insert(&mut self, parent: Node, data: D) -> Result<Node, TreeError> {
        self.insert_leaf(parent, None, data)
    }

    /// Adds a leaf like [`insert`](Self::insert), before the child that has this index now.
    ///
    /// # Errors
    ///
    /// As for [`insert`](Self::insert); or if the index is behind all children.
    pub fn insert_at(&mut self, parent: Node, index: usize, data: D) -> Result<Node, TreeError> {
        self.insert_leaf(parent, Some(index), data)
    }

    fn insert_leaf(&mut self, parent: Node, at: Option<usize>, data: D) -> Result<Node, TreeError> {
        let tree = self.tree;
        // SAFETY: the node is not published yet.
        let fill = |index| _ = unsafe { tree.replace(index, Some(data)) };
        self.holder.insert(parent, at, fill)
    }

    /// Removes a node and all below it. Returns their data, level by level. Handles to
    /// these nodes are not valid any more. A node to which a [link](Self::link) leads from there
    /// loses that parent, and stays.
    ///
    /// The data of the links to and from these nodes are dropped while the task holds them.
    ///
    /// # Errors
    ///
    /// If the node does not exist or is the root; if it, or a node below, has another parent that
    /// stays; or if the task has not claimed it with all below, and its parent, to write them: see
    /// [`TreePlan::remove`](super::TreePlan::remove).
    pub fn remove(&mut self, node: Node) -> Result<Vec<D>, TreeError> {
        let nodes = self.holder.remove(node)?;
        // SAFETY: the task has removed the nodes, and their slots are not free yet.
        let taken = nodes.iter().filter_map(|&index| unsafe { self.tree.replace(index, None) });
        let data = taken.collect();
        self.tree.table.free_nodes(&nodes);
        Ok(data)
    }

    /// Moves a node with all below it behind the children of another node, or of the same. Its
    /// [links](Self::link) stay: of several parents it leaves the first. If that has the node
    /// several times, the last of these places moves, with its [data](Self::set_link_data).
    ///
    /// # Errors
    ///
    /// If a node does not exist, the first is the root, or the second is below the first, perhaps
    /// by links; or if the task has not claimed what it takes: see
    /// [`TreePlan::relocate`](super::TreePlan::relocate).
    pub fn relocate(&mut self, node: Node, to: Node) -> Result<(), TreeError> {
        self.holder.relocate(node, to, None)
    }

    /// Moves a node like [`relocate`](Self::relocate), to this index among the other children.
    ///
    /// # Errors
    ///
    /// As for [`relocate`](Self::relocate); or if the index is behind all other children.
    pub fn relocate_at(&mut self, node: Node, to: Node, index: usize) -> Result<(), TreeError> {
        self.holder.relocate(node, to, Some(index))
    }

    /// Returns true if the data of a node may be half-written, because a task has panicked there.
    /// Only a task with a claim [for poisoned nodes too](super::TreeClaim::even_poisoned) sees
    /// that.
    ///
    /// # Errors
    ///
    /// If the node does not exist, or the task has not claimed it.
    pub fn is_poisoned(&self, node: Node) -> Result<bool, TreeError> {
        self.holder.covered(node, false)?;
        Ok(self.tree.table.is_poisoned(node))
    }

    pub(super) fn split(&mut self, node: Node) {
        self.holder.split(node);
    }

    pub(super) fn merge(&mut self, node: Node) {
        self.holder.merge(node);
    }

    fn covers_all(&self, node: Node, write: bool) -> Result<(), TreeError> {
        let slot = self.holder.covered(node, write)?;
        if !self.holder.table.covers_all(self.holder.rights, node.index, write) {
            return Err(TreeError::NotClaimed(node));
        }
        // Relaxed: the claim keeps links from being made and taken away there.
        let has_links = slot.links.load(Relaxed) != 0;
        if has_links && !self.holder.covers_tree(write) {
            return self.holder.check_linked(node, write, |_| ());
        }
        Ok(())
    }
}

impl<D: Send + Sync + 'static> fmt::Debug for Nodes<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("targets", &&*self.holder.rights.targets).finish_non_exhaustive()
    }
}
