//! Changes of a numbered shape: inserting, removing, linking and unlinking nodes.
//!
//! Each change has two steps: the first plans it and changes nothing, the second carries it out.

use super::placement::Placement;
use super::{Hull, Numbering};
use crate::{Node, ShapeError};

/// A change of a numbered shape, to be [previewed](Numbering::preview).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// See [`Numbering::insert`].
    Insert {
        /// The parent of the new leaf; `None` for a new root.
        parent: Option<Node>,
        /// The sibling that the leaf is inserted before; `None` to insert it last.
        before: Option<Node>,
    },
    /// See [`Numbering::remove`].
    Remove(Node),
    /// See [`Numbering::link`].
    Link {
        /// The parent.
        parent: Node,
        /// The node that is linked under it.
        child: Node,
        /// The child of `parent` that the link is inserted before; `None` to insert it last.
        before: Option<Node>,
    },
    /// See [`Numbering::unlink`].
    Unlink {
        /// The parent.
        parent: Node,
        /// Its child.
        child: Node,
    },
}

/// The nodes whose numbers a change widens: the old interval does not cover the new one. The
/// intervals of all other nodes stay or become narrower. (A node that was just inserted is not
/// among them.)
///
/// The parent comes first, and each other node after one of its children. In a tree, the last one
/// is the topmost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WidenedNodes {
    /// Nodes whose hull was widened, or relabelled because the node became a leaf or stopped being
    /// one.
    pub hulls: Vec<Node>,
    /// Those whose interval of granules was widened as well. Only links do that.
    pub granules: Vec<Node>,
}

/// What a change has done to the numbers of other nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeOutcome {
    /// Nodes whose numbers were widened.
    pub widened: WidenedNodes,
    /// Number of leaves whose label has changed because a gap ran out. (Their order and granules
    /// stay.)
    pub relabelled: usize,
}

/// A node that becomes a leaf because its last child is removed.
struct BecomingLeaf {
    node: Node,
    placement: Placement,
    widened: WidenedNodes,
}

impl Numbering {
    /// Inserts a leaf under a parent, or a root, before the given sibling or as the last one.
    ///
    /// If the parent was a leaf, the new leaf takes its label over. Otherwise the new label is next
    /// to one that the parent's hull covers.
    ///
    /// # Errors
    /// [`ShapeError::NoSuchNode`] or [`ShapeError::NotAChild`] if the parent does not exist or
    /// `before` is not its child, [`ShapeError::TooMany`] if there is no room for one more node.
    pub fn insert(
        &mut self,
        parent: Option<Node>,
        before: Option<Node>,
    ) -> Result<(Node, ChangeOutcome), ShapeError> {
        let (placement, edge, widened) = self.plan_insert(parent, before)?;
        let node = self.shape.add();
        self.shape.connect(parent, node, edge);
        let (position, relabelled) = self.place_leaf(node, placement, &widened);
        self.leaves.hold(position);
        self.leaves.hold(position);
        let hull = Hull { first: position, last: position };
        match self.hulls.get_mut(node.index()) {
            Some(old) => *old = hull,
            None => self.hulls.push(hull),
        }
        Ok((node, ChangeOutcome { widened, relabelled }))
    }

    /// Removes a node and all its descendants, and returns them, each before its children. The
    /// hulls above stay as wide as they are until they are [tightened](Self::tighten). A parent
    /// without other children becomes a leaf.
    ///
    /// # Errors
    /// [`ShapeError::NoSuchNode`] if the node does not exist, [`ShapeError::Shared`] if it has
    /// several parents ([unlink](Self::unlink) them first) or a descendant has a parent outside of
    /// the sub-tree.
    pub fn remove(&mut self, node: Node) -> Result<(Vec<Node>, ChangeOutcome), ShapeError> {
        let (nodes, becoming_leaf) = self.plan_remove(node)?;
        let parent = self.shape.parents(node).next();
        let edge = self.shape.between(parent, node)?;
        for &node in &nodes {
            let Hull { first, last } = self.hulls[node.index()];
            if self.shape.is_leaf(node) {
                self.leaves.vacate(first);
            }
            self.leaves.release(first);
            self.leaves.release(last);
        }
        self.shape.disconnect(edge);
        self.shape.forget(&nodes);
        Ok((nodes, self.make_leaf(becoming_leaf)))
    }

    /// Links an existing node under one more parent, before the given child or as the last one. A
    /// root stops being a root.
    ///
    /// # Errors
    /// [`ShapeError::NoSuchNode`] if a node does not exist, [`ShapeError::AlreadyChild`] if the
    /// child is under that parent already, [`ShapeError::NotAChild`] if `before` is not a child of
    /// it, [`ShapeError::Cycle`] if the link would close a cycle, [`ShapeError::TooMany`] if there
    /// is no room for one more edge.
    pub fn link(
        &mut self,
        parent: Node,
        child: Node,
        before: Option<Node>,
    ) -> Result<ChangeOutcome, ShapeError> {
        let (edge, widened) = self.plan_link(parent, child, before)?;
        let below = self.positions(child);
        if self.shape.is_leaf(parent) {
            // The parent's own label is freed: the parent now stands for its descendants.
            self.leaves.vacate(self.positions(parent).first);
            self.set_hull(parent, below);
        }
        for &node in &widened.hulls {
            self.set_hull(node, self.join(self.positions(node), below));
        }
        self.shape.connect(Some(parent), child, edge);
        if let Ok(root) = self.shape.between(None, child) {
            self.shape.disconnect(root);
        }
        Ok(ChangeOutcome { widened, relabelled: 0 })
    }

    /// Unlinks a node from one of its parents. The parent's hull stays as wide as it is until it is
    /// [tightened](Self::tighten). A parent without other children becomes a leaf.
    ///
    /// # Errors
    /// [`ShapeError::NoSuchNode`] if a node does not exist, [`ShapeError::NotAChild`] if the node
    /// is not a child of that parent, [`ShapeError::OnlyParent`] if it has no other parent.
    pub fn unlink(&mut self, parent: Node, child: Node) -> Result<ChangeOutcome, ShapeError> {
        let (edge, becoming_leaf) = self.plan_unlink(parent, child)?;
        self.shape.disconnect(edge);
        Ok(self.make_leaf(becoming_leaf))
    }

    /// Returns the nodes whose numbers a change would widen if it were made now. Nothing is
    /// changed.
    ///
    /// # Errors
    /// The same as those of the change.
    pub fn preview(&self, change: Change) -> Result<WidenedNodes, ShapeError> {
        let widened = |becoming_leaf: Option<BecomingLeaf>| {
            becoming_leaf.map(|becoming_leaf| becoming_leaf.widened).unwrap_or_default()
        };
        match change {
            Change::Insert { parent, before } => Ok(self.plan_insert(parent, before)?.2),
            Change::Remove(node) => Ok(widened(self.plan_remove(node)?.1)),
            Change::Link { parent, child, before } => Ok(self.plan_link(parent, child, before)?.1),
            Change::Unlink { parent, child } => Ok(widened(self.plan_unlink(parent, child)?.1)),
        }
    }

    /// Plans an insertion: the placement of the new leaf, the edge to insert before, and what is
    /// widened.
    fn plan_insert(
        &self,
        parent: Option<Node>,
        before: Option<Node>,
    ) -> Result<(Placement, Option<u32>, WidenedNodes), ShapeError> {
        parent.map_or(Ok(()), |parent| self.shape.check(parent))?;
        let edge = before.map(|before| self.shape.between(parent, before)).transpose()?;
        self.shape.room()?;
        let placement = self.placement_of_new(parent, edge);
        let widened = parent.map(|parent| self.widened_by(placement, parent)).unwrap_or_default();
        Ok((placement, edge, widened))
    }

    /// Plans a removal: all nodes to be removed, and the parent if it becomes a leaf.
    fn plan_remove(&self, node: Node) -> Result<(Vec<Node>, Option<BecomingLeaf>), ShapeError> {
        self.shape.check(node)?;
        if let Some(parent) = self.shape.parents(node).nth(1) {
            return Err(ShapeError::Shared { node, parent });
        }
        let nodes: Vec<Node> = self.shape.subtree(node).collect();
        let mut sorted = Vec::new();
        for &node in nodes.iter().filter(|&&node| self.shape.is_shared(node)) {
            if sorted.is_empty() {
                sorted.clone_from(&nodes);
                sorted.sort_unstable();
            }
            let outside = |parent: &Node| sorted.binary_search(parent).is_err();
            if let Some(parent) = self.shape.parents(node).find(outside) {
                return Err(ShapeError::Shared { node, parent });
            }
        }
        let childless = self.shape.parents(node).next().filter(|&parent| self.shape.is_only(parent));
        let becoming_leaf = childless.map(|parent| self.plan_leaf(parent, |leaf| nodes.contains(&leaf)));
        Ok((nodes, becoming_leaf))
    }

    /// Plans a link: the edge to insert before, and what is widened.
    fn plan_link(
        &self,
        parent: Node,
        child: Node,
        before: Option<Node>,
    ) -> Result<(Option<u32>, WidenedNodes), ShapeError> {
        self.shape.check(parent)?;
        self.shape.check(child)?;
        let edge = before.map(|before| self.shape.between(Some(parent), before)).transpose()?;
        if self.shape.between(Some(parent), child).is_ok() {
            return Err(ShapeError::AlreadyChild { parent, child });
        }
        // The child's hull covers the hulls of its descendants, so that all others can be skipped.
        if let Some(cycle) = self.shape.path_down(child, parent, |above| self.covers(child, above)) {
            return Err(ShapeError::Cycle(cycle));
        }
        self.shape.room()?;
        // This includes a parent that is a leaf, as the child's hull is not within its own.
        let reaches = self.shape.climb(parent, |above| !self.covers(above, child));
        let hulls: Vec<Node> = reaches.into_iter().map(|step| step.0).collect();
        let below = self.granules(child);
        let granules = hulls.iter().copied().filter(|&node| !self.granules(node).covers(below)).collect();
        Ok((edge, WidenedNodes { hulls, granules }))
    }

    /// Plans the removal of a link: its edge, and the parent if it becomes a leaf.
    fn plan_unlink(&self, parent: Node, child: Node) -> Result<(u32, Option<BecomingLeaf>), ShapeError> {
        self.shape.check(parent)?;
        let edge = self.shape.between(Some(parent), child)?;
        if !self.shape.is_shared(child) {
            return Err(ShapeError::OnlyParent { parent, child });
        }
        let becoming_leaf = self.shape.is_only(parent).then(|| self.plan_leaf(parent, |_| false));
        Ok((edge, becoming_leaf))
    }

    fn plan_leaf(&self, node: Node, gone: impl Fn(Node) -> bool) -> BecomingLeaf {
        let placement = self.placement_of_childless(node, gone);
        BecomingLeaf { node, placement, widened: self.widened_by(placement, node) }
    }

    fn make_leaf(&mut self, becoming_leaf: Option<BecomingLeaf>) -> ChangeOutcome {
        let Some(BecomingLeaf { node, placement, widened }) = becoming_leaf else {
            return ChangeOutcome::default();
        };
        let (position, relabelled) = self.place_leaf(node, placement, &widened);
        self.set_hull(node, Hull { first: position, last: position });
        ChangeOutcome { widened, relabelled }
    }
}
