//! Nodes and links that come and go.
//!
//! Each change is planned first, which changes nothing and says what would be widened, and then made.

use super::seat::Seat;
use super::{Hull, Numbering};
use crate::{Node, Refused};

/// A change of a hierarchy, to be [foreseen](Numbering::foresee).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// [`Numbering::insert`]
    Insert {
        /// Of the new leaf; `None` for a new root.
        parent: Option<Node>,
        /// The child of `parent`, or the root, before which it comes; `None` if it comes last.
        before: Option<Node>,
    },
    /// [`Numbering::remove`]
    Remove(Node),
    /// [`Numbering::link`]
    Link {
        /// The parent.
        parent: Node,
        /// Its child to be.
        child: Node,
        /// The child of `parent` before which it comes; `None` if it comes last.
        before: Option<Node>,
    },
    /// [`Numbering::unlink`]
    Unlink {
        /// The parent.
        parent: Node,
        /// Its child.
        child: Node,
    },
}

/// The nodes for which a change reaches out: what they stood for before does not cover what they stand for now. All other
/// nodes' hulls have stayed as they were, or have become narrower. (A node that has just come is not among them.)
///
/// The parent comes first, and each other node after one of its children: in a tree, the last one is above all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Widened {
    /// Those whose hulls have been widened or, where a node became a leaf or was one, moved.
    pub hulls: Vec<Node>,
    /// Those of them whose intervals of granules have been. Only links do that.
    pub granules: Vec<Node>,
}

/// What a change has done to other nodes' numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The nodes for which it has reached out.
    pub widened: Widened,
    /// How many leaves have another label now, as gaps have ended. (Their order is the same, and so are their granules.)
    pub moved: usize,
}

/// A node that becomes a leaf, as its last child goes.
struct Settling {
    node: Node,
    seat: Seat,
    widened: Widened,
}

impl Numbering {
    /// A new leaf under a parent, or a new root: before that child or root, or as the last one.
    ///
    /// A parent that has been a leaf hands its label on to it. Otherwise its label is next to one that its parent covers.
    ///
    /// # Errors
    /// There is no such parent, `before` is no child of it, or there is no room for one more node.
    pub fn insert(&mut self, parent: Option<Node>, before: Option<Node>) -> Result<(Node, Outcome), Refused> {
        let (seat, edge, widened) = self.plan_insert(parent, before)?;
        let node = self.shape.add();
        self.shape.connect(parent, node, edge);
        let (place, moved) = self.seat(node, seat, &widened);
        self.line.hold(place);
        self.line.hold(place);
        let hull = Hull { first: place, last: place };
        match self.hulls.get_mut(node.index()) {
            Some(old) => *old = hull,
            None => self.hulls.push(hull),
        }
        Ok((node, Outcome { widened, moved }))
    }

    /// Removes a node and all its descendants, which are given out, each before its children. What was above keeps its hull,
    /// wide as it is, until it is [tightened](Self::tighten); a parent that has no other child becomes a leaf.
    ///
    /// # Errors
    /// There is no such node, it has several parents ([unlink](Self::unlink) them before), or one of its descendants has a
    /// parent elsewhere.
    pub fn remove(&mut self, node: Node) -> Result<(Vec<Node>, Outcome), Refused> {
        let (nodes, settling) = self.plan_remove(node)?;
        let parent = self.shape.parents(node).next();
        let edge = self.shape.between(parent, node)?;
        for &node in &nodes {
            let Hull { first, last } = self.hulls[node.index()];
            if self.shape.is_leaf(node) {
                self.line.vacate(first);
            }
            self.line.release(first);
            self.line.release(last);
        }
        self.shape.disconnect(edge);
        self.shape.forget(&nodes);
        Ok((nodes, self.settle(settling)))
    }

    /// Links a node that is there under one more parent: before that child, or as the last one. A root is no root after that.
    ///
    /// # Errors
    /// There is no such node, the child is under that parent already, `before` is no child of it, there would be a cycle, or
    /// there is no room for one more edge.
    pub fn link(&mut self, parent: Node, child: Node, before: Option<Node>) -> Result<Outcome, Refused> {
        let (edge, widened) = self.plan_link(parent, child, before)?;
        let below = self.places(child);
        if self.shape.is_leaf(parent) {
            // Its own label goes: it stands for what is below it from now on.
            self.line.vacate(self.places(parent).first);
            self.set_hull(parent, below);
        }
        for &node in &widened.hulls {
            self.set_hull(node, self.join(self.places(node), below));
        }
        self.shape.connect(Some(parent), child, edge);
        if let Ok(root) = self.shape.between(None, child) {
            self.shape.disconnect(root);
        }
        Ok(Outcome { widened, moved: 0 })
    }

    /// Takes a node from under one of its parents. This one keeps its hull, wide as it is, until it is
    /// [tightened](Self::tighten); if it has no other child, it becomes a leaf.
    ///
    /// # Errors
    /// There is no such node, it is no child of that parent, or it has no other one.
    pub fn unlink(&mut self, parent: Node, child: Node) -> Result<Outcome, Refused> {
        let (edge, settling) = self.plan_unlink(parent, child)?;
        self.shape.disconnect(edge);
        Ok(self.settle(settling))
    }

    /// For which nodes a change would reach out, were it made now. Nothing is changed.
    ///
    /// # Errors
    /// As for the change.
    pub fn foresee(&self, change: Change) -> Result<Widened, Refused> {
        let of = |settling: Option<Settling>| settling.map(|settling| settling.widened).unwrap_or_default();
        match change {
            Change::Insert { parent, before } => Ok(self.plan_insert(parent, before)?.2),
            Change::Remove(node) => Ok(of(self.plan_remove(node)?.1)),
            Change::Link { parent, child, before } => Ok(self.plan_link(parent, child, before)?.1),
            Change::Unlink { parent, child } => Ok(of(self.plan_unlink(parent, child)?.1)),
        }
    }

    /// Where the new leaf comes, the edge that it comes before, and what is widened.
    fn plan_insert(
        &self,
        parent: Option<Node>,
        before: Option<Node>,
    ) -> Result<(Seat, Option<u32>, Widened), Refused> {
        parent.map_or(Ok(()), |parent| self.shape.check(parent))?;
        let edge = before.map(|before| self.shape.between(parent, before)).transpose()?;
        self.shape.room()?;
        let seat = self.seat_of_new(parent, edge);
        let widened = parent.map(|parent| self.widened_by(seat, parent)).unwrap_or_default();
        Ok((seat, edge, widened))
    }

    /// All nodes that go, and what becomes of the parent.
    fn plan_remove(&self, node: Node) -> Result<(Vec<Node>, Option<Settling>), Refused> {
        self.shape.check(node)?;
        if let Some(parent) = self.shape.parents(node).nth(1) {
            return Err(Refused::Shared { node, parent });
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
                return Err(Refused::Shared { node, parent });
            }
        }
        let childless = self.shape.parents(node).next().filter(|&parent| self.shape.is_only(parent));
        let settling = childless.map(|parent| self.settling(parent, |leaf| nodes.contains(&leaf)));
        Ok((nodes, settling))
    }

    /// The edge that the new one comes before, and what is widened.
    fn plan_link(
        &self,
        parent: Node,
        child: Node,
        before: Option<Node>,
    ) -> Result<(Option<u32>, Widened), Refused> {
        self.shape.check(parent)?;
        self.shape.check(child)?;
        let edge = before.map(|before| self.shape.between(Some(parent), before)).transpose()?;
        if self.shape.between(Some(parent), child).is_ok() {
            return Err(Refused::Twice { parent, child });
        }
        // What is below the child has hulls that its hull covers.
        if let Some(cycle) = self.shape.way(child, parent, |above| self.covers(child, above)) {
            return Err(Refused::Cycle(cycle));
        }
        self.shape.room()?;
        // A parent that is a leaf is among them: below the child there is another leaf.
        let reaches = self.shape.climb(parent, |above| !self.covers(above, child));
        let hulls: Vec<Node> = reaches.into_iter().map(|step| step.0).collect();
        let below = self.granules(child);
        let granules = hulls.iter().copied().filter(|&node| !self.granules(node).covers(below)).collect();
        Ok((edge, Widened { hulls, granules }))
    }

    /// The edge that goes, and what becomes of the parent.
    fn plan_unlink(&self, parent: Node, child: Node) -> Result<(u32, Option<Settling>), Refused> {
        self.shape.check(parent)?;
        let edge = self.shape.between(Some(parent), child)?;
        if !self.shape.is_shared(child) {
            return Err(Refused::OnlyParent { parent, child });
        }
        let settling = self.shape.is_only(parent).then(|| self.settling(parent, |_| false));
        Ok((edge, settling))
    }

    fn settling(&self, node: Node, gone: impl Fn(Node) -> bool) -> Settling {
        let seat = self.seat_of_childless(node, gone);
        Settling { node, seat, widened: self.widened_by(seat, node) }
    }

    fn settle(&mut self, settling: Option<Settling>) -> Outcome {
        let Some(Settling { node, seat, widened }) = settling else {
            return Outcome::default();
        };
        let (place, moved) = self.seat(node, seat, &widened);
        self.set_hull(node, Hull { first: place, last: place });
        Outcome { widened, moved }
    }
}
