//! Links of the nodes that a running task holds, and their data.

use super::error::TreeError;
use super::node::Node;
use super::nodes::Nodes;
use alloc::boxed::Box;
use core::any::Any;

impl<D: Send + Sync + 'static> Nodes<'_, D> {
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

    /// Links a node like [`link_at`](Self::link_at), with data of the link.
    ///
    /// # Errors
    ///
    /// As for [`link_at`](Self::link_at).
    pub fn link_at_with<L>(
        &mut self,
        parent: Node,
        index: usize,
        node: Node,
        data: L,
    ) -> Result<(), TreeError>
    where
        L: Any + Send + Sync,
    {
        let at = self.holder.link(parent, node, Some(index))?;
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
    /// removed, when the parent is removed, or if others are set. Their destructor runs in the
    /// task, which still holds what it has claimed: so it must not wait for other tasks of the
    /// tree. It may panic without effect.
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

    /// Takes the data out of the link from a node to the child that has this index; `None` if it
    /// has none of this type. The link stays.
    ///
    /// ```
    /// use xtasking::{Runtime, trees::TreeError};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = rt.tree("machine");
    /// let root = tree.root();
    /// let task = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
    ///     let (pump, bolt) = (nodes.insert(root, "pump")?, nodes.insert(root, "bolt")?);
    ///     nodes.link_with(pump, bolt, "upper left")?;
    ///     nodes.link_at_with(pump, 0, bolt, "lower right")?;
    ///     let text = nodes.take_link_data::<&str>(pump, 0)?;
    ///     nodes.unlink_at(pump, 0)?;
    ///     Ok::<_, TreeError>((text, nodes.link_data::<&str>(pump, 0)?.copied()))
    /// });
    /// assert_eq!(task.join()??, (Some("lower right"), Some("upper left")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`link_data_mut`](Self::link_data_mut).
    pub fn take_link_data<L: Any>(&mut self, parent: Node, index: usize) -> Result<Option<L>, TreeError> {
        let value = self.holder.take_link_value(parent, index, |value| value.is::<L>())?;
        Ok(value.and_then(|value| (value as Box<dyn Any>).downcast().ok()).map(|data| *data))
    }

    /// Takes a node out of the children of a parent: once, the last time that it occurs there. The
    /// [data](Self::set_link_data) of that place are dropped. If the node is below that parent
    /// without a link, the next of its [parents](Self::parents) becomes the first: that is a move
    /// of the node with all below it, to the place of a link there, whose data stay.
    ///
    /// # Errors
    ///
    /// If one of them does not exist, the second is no child of the first, or has no other parent;
    /// or if the task has not claimed what it takes: see
    /// [`TreePlan::unlink`](super::TreePlan::unlink).
    pub fn unlink(&mut self, parent: Node, node: Node) -> Result<(), TreeError> {
        self.holder.unlink(parent, node, None)
    }

    /// Takes the child that has this index out of the children of a node, like
    /// [`unlink`](Self::unlink). So of a child that occurs there several times one place is chosen.
    ///
    /// # Errors
    ///
    /// As for [`unlink`](Self::unlink); or if the index is behind all children.
    pub fn unlink_at(&mut self, parent: Node, index: usize) -> Result<(), TreeError> {
        let children = self.children(parent)?;
        let &node = children.get(index).ok_or(TreeError::NoSuchPlace(parent, index))?;
        self.holder.unlink(parent, node, Some(index))
    }
}
