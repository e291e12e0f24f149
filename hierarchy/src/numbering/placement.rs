//! Where a leaf is put into the list.

use super::{Hull, Numbering, WidenedNodes};
use crate::Node;
use crate::leaf_list::{InsertPoint, Position};

/// A position for a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) enum Placement {
    /// That of the parent, which was a leaf.
    OfParent(Position),
    /// One whose leaf was removed.
    Vacant(Position),
    /// A new one.
    New(InsertPoint),
}

impl Numbering {
    /// Returns the placement of a new leaf under an existing parent, before the child of the edge
    /// `before` or as the last child.
    ///
    /// In a tree this follows depth-first order. Otherwise the leaf is put beside one below the
    /// parent, so that the parent's granules stay the same.
    pub(super) fn placement_of_new(&self, parent: Option<Node>, before: Option<u32>) -> Placement {
        if let Some(parent) = parent.filter(|&parent| self.shape.is_leaf(parent)) {
            return Placement::OfParent(self.positions(parent).first);
        }
        // A vacant position within the parent's hull was below the parent all along.
        let within = |position: &Position| {
            let label = self.leaves.label(*position);
            self.leaves.is_vacant(*position)
                && parent
                    .map(|parent| self.hull(parent))
                    .is_some_and(|hull| hull.low <= label && label <= hull.high)
        };
        if let Some(edge) = before {
            let next = self.shape.edge(edge).expect("the edge is there").child();
            let first = self.positions(next).first;
            let previous = self.shape.previous(edge).map(|previous| self.hull(previous).high);
            let behind =
                |position: &Position| previous.is_none_or(|previous| previous < self.leaves.label(*position));
            let vacant = self.leaves.before(first).filter(within).filter(behind);
            return vacant.map_or(Placement::New(InsertPoint::Before(first)), Placement::Vacant);
        }
        let Some(last) = self.shape.last(parent) else {
            return Placement::New(InsertPoint::First);
        };
        let last = self.positions(last).last;
        self.leaves
            .after(last)
            .filter(within)
            .map_or(Placement::New(InsertPoint::After(last)), Placement::Vacant)
    }

    /// Returns the placement of a node that becomes a leaf after the leaves for which `gone` is
    /// true are removed. It is the first position of the node's hull, unless a leaf stays there
    /// that other nodes share.
    pub(super) fn placement_of_childless(&self, node: Node, gone: impl Fn(Node) -> bool) -> Placement {
        let first = self.positions(node).first;
        if self.leaves.leaf(first).is_none_or(gone) {
            Placement::Vacant(first)
        } else {
            Placement::New(InsertPoint::After(first))
        }
    }

    /// Returns the nodes whose hulls a placement below `node` widens: the node and its ancestors,
    /// as far as the placement is at the end of their hulls. Their granules stay, as the new leaf
    /// has the granule of a neighbour in the hull.
    pub(super) fn widened_by(&self, placement: Placement, node: Node) -> WidenedNodes {
        let hulls = match placement {
            Placement::New(InsertPoint::After(position)) => {
                self.shape.climb(node, |above| self.positions(above).last == position)
            }
            Placement::New(InsertPoint::Before(position)) => {
                self.shape.climb(node, |above| self.positions(above).first == position)
            }
            _ => Vec::new(),
        };
        WidenedNodes { hulls: hulls.into_iter().map(|step| step.0).collect(), granules: Vec::new() }
    }

    /// Puts a leaf into the list and widens those hulls. Returns its position and how many labels
    /// have changed.
    pub(super) fn place_leaf(
        &mut self,
        leaf: Node,
        placement: Placement,
        widened: &WidenedNodes,
    ) -> (Position, usize) {
        match placement {
            Placement::OfParent(position) | Placement::Vacant(position) => {
                self.leaves.occupy(position, leaf);
                (position, 0)
            }
            Placement::New(point) => {
                let (position, relabelled) = self.leaves.insert(point, leaf);
                for &node in &widened.hulls {
                    let hull = self.hulls[node.index()];
                    let wider = match point {
                        InsertPoint::Before(_) => Hull { first: position, ..hull },
                        _ => Hull { last: position, ..hull },
                    };
                    self.set_hull(node, wider);
                }
                (position, relabelled)
            }
        }
    }
}
