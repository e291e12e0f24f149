//! The nodes that a running task holds, and their data.

use super::change::Holder;
use super::error::TreeError;
use super::inner::TreeInner;
use super::node::Node;
use super::subtree::{Subtree, SubtreeMut};
use super::tree::TreeRef;
use crate::sync::Relaxed;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

/// The nodes that a task has claimed, with their data, while it runs. See
/// [`TaskBuilder::claim`](crate::TaskBuilder::claim).
///
/// A node that the task has not claimed, or that does not exist any more, is an error: the body
/// decides what to do about it. Nothing is poisoned unless the task panics.
pub struct Nodes<'h, D: Send + Sync + 'static> {
    tree: &'h TreeInner<D>,
    holder: Holder<'h>,
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
    /// [links](Self::link) stay: of several parents it leaves the first.
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

    /// Makes a node a child of one more parent, by a link behind its other children. A parent may
    /// have the same child several times.
    ///
    /// What is below the node is below that parent, too: tasks that claim the parent with all below
    /// hold it as well. The place of the node stays where it is.
    ///
    /// ```
    /// use xtasking::{Runtime, trees::TreeError};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = rt.tree("assembly");
    /// let root = tree.root();
    /// let build = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
    ///     let (left, right) = (nodes.insert(root, "left")?, nodes.insert(root, "right")?);
    ///     let bolt = nodes.insert(left, "bolt")?;
    ///     nodes.link(right, bolt)?;
    ///     assert_eq!(nodes.parents(bolt)?, [left, right]);
    ///     assert_eq!(nodes.link(bolt, right), Err(TreeError::Cycle(right, bolt)));
    ///     Ok::<_, TreeError>(right)
    /// });
    /// let right = build.join()??;
    /// let names = rt.task(()).claim(tree.read(right)).submit_with(move |(), nodes, _| {
    ///     Ok::<_, TreeError>(nodes.subtree(right)?.map(|(_, name)| *name).collect::<Vec<_>>())
    /// });
    /// assert_eq!(names.join()??, ["right", "bolt"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If one of them does not exist; if the parent is below the node, perhaps by links; or if the
    /// task has not claimed what it takes: see [`TreePlan::link`](super::TreePlan::link).
    pub fn link(&mut self, parent: Node, node: Node) -> Result<(), TreeError> {
        self.holder.link(parent, node, None).map(drop)
    }

    /// Links a node like [`link`](Self::link), before the child that has this index now.
    ///
    /// # Errors
    ///
    /// As for [`link`](Self::link); or if the index is behind all children.
    pub fn link_at(&mut self, parent: Node, index: usize, node: Node) -> Result<(), TreeError> {
        self.holder.link(parent, node, Some(index)).map(drop)
    }

    /// Links a node like [`link`](Self::link), with data of the link.
    ///
    /// ```
    /// use xtasking::{Runtime, trees::TreeError};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = rt.tree("machine");
    /// let root = tree.root();
    /// let build = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
    ///     let (pump, bolt) = (nodes.insert(root, "pump")?, nodes.insert(root, "bolt")?);
    ///     nodes.link_with(pump, bolt, "upper left")?;
    ///     nodes.link_with(pump, bolt, "lower right")?;
    ///     Ok::<_, TreeError>(pump)
    /// });
    /// let pump = build.join()??;
    /// let list = rt.task(()).claim(tree.read_alone(pump)).submit_with(move |(), nodes, _| {
    ///     let count = nodes.children(pump)?.len();
    ///     let places = (0..count).map(|at| nodes.link_data::<&str>(pump, at));
    ///     places.map(|place| Ok(place?.copied())).collect::<Result<Vec<_>, TreeError>>()
    /// });
    /// assert_eq!(list.join()??, [Some("upper left"), Some("lower right")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`link`](Self::link).
    pub fn link_with<L>(&mut self, parent: Node, node: Node, data: L) -> Result<(), TreeError>
    where
        L: Any + Send + Sync,
    {
        let at = self.holder.link(parent, node, None)?;
        self.holder.set_link_value(parent, at, Box::new(data))
    }

    /// Returns the data of the link from a node to the child that has this index; `None` if it has
    /// none of this type.
    ///
    /// The data belong to the parent, which alone the task has to have claimed.
    ///
    /// # Errors
    ///
    /// If the parent does not exist, or the task has not claimed it; or if it has too few children.
    pub fn link_data<L: Any>(&self, parent: Node, index: usize) -> Result<Option<&L>, TreeError> {
        let value = self.holder.link_value(parent, index)?;
        Ok(value.and_then(|value| value.downcast_ref()))
    }

    /// Returns the data of a link like [`link_data`](Self::link_data), to change them.
    ///
    /// # Errors
    ///
    /// As for [`link_data`](Self::link_data), or if the task has not claimed the parent to write
    /// it.
    pub fn link_data_mut<L: Any>(&mut self, parent: Node, index: usize) -> Result<Option<&mut L>, TreeError> {
        let value = self.holder.link_value_mut(parent, index)?;
        Ok(value.and_then(|value| value.downcast_mut()))
    }

    /// Sets the data of the link from a node to the child that has this index. The child may be
    /// below that node without a [link](Self::link), too.
    ///
    /// A child that is moved takes its data along. The data are dropped when it is unlinked or
    /// removed, or if others are set; their destructor may panic without effect.
    ///
    /// # Errors
    ///
    /// As for [`link_data_mut`](Self::link_data_mut).
    pub fn set_link_data<L>(&mut self, parent: Node, index: usize, data: L) -> Result<(), TreeError>
    where
        L: Any + Send + Sync,
    {
        self.holder.set_link_value(parent, index, Box::new(data))
    }

    /// Takes a node out of the children of a parent: once, the last time that it occurs there. If
    /// the node is below that parent without a link, the next of its [parents](Self::parents)
    /// becomes the first: that is a move of the node with all below it.
    ///
    /// # Errors
    ///
    /// If one of them does not exist, the second is no child of the first, or has no other parent;
    /// or if the task has not claimed what it takes: see
    /// [`TreePlan::unlink`](super::TreePlan::unlink).
    pub fn unlink(&mut self, parent: Node, node: Node) -> Result<(), TreeError> {
        self.holder.unlink(parent, node)
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
