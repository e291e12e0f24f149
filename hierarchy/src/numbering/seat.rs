//! Where a leaf comes to stand on the line.

use super::{Hull, Numbering, Widened};
use crate::Node;
use crate::line::{Place, Spot};

/// A place for a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seat {
    /// That of its parent, which has been a leaf.
    OfParent(Place),
    /// One whose leaf has been removed.
    Vacant(Place),
    /// A new one.
    New(Spot),
}

impl Numbering {
    /// The seat for a new leaf under a parent that is there, before the child that an edge leads to, or as the last one.
    ///
    /// In a tree it is where depth-first order wants it. Elsewhere it is beside a leaf below the parent, so that no granule
    /// comes to the parent.
    pub(super) fn seat_of_new(&self, parent: Option<Node>, before: Option<u32>) -> Seat {
        if let Some(parent) = parent.filter(|&parent| self.shape.is_leaf(parent)) {
            return Seat::OfParent(self.places(parent).first);
        }
        // A vacant place between the children of a tree, below the parent, was below the parent all along.
        let within = |place: &Place| {
            let label = self.line.label(*place);
            self.line.is_vacant(*place)
                && parent
                    .map(|parent| self.hull(parent))
                    .is_some_and(|hull| hull.low <= label && label <= hull.high)
        };
        if let Some(edge) = before {
            let next = self.shape.edge(edge).expect("the edge is there").child();
            let first = self.places(next).first;
            let previous = self.shape.previous(edge).map(|previous| self.hull(previous).high);
            let behind = |place: &Place| previous.is_none_or(|previous| previous < self.line.label(*place));
            let vacant = self.line.before(first).filter(within).filter(behind);
            return vacant.map_or(Seat::New(Spot::Before(first)), Seat::Vacant);
        }
        let Some(last) = self.shape.last(parent) else {
            return Seat::New(Spot::First);
        };
        let last = self.places(last).last;
        self.line.after(last).filter(within).map_or(Seat::New(Spot::After(last)), Seat::Vacant)
    }

    /// The seat for a node whose last child goes, after which those leaves are `gone`: within its hull, unless that is one
    /// place, where a leaf stays that is below other nodes as well.
    pub(super) fn seat_of_childless(&self, node: Node, gone: impl Fn(Node) -> bool) -> Seat {
        let first = self.places(node).first;
        if self.line.leaf(first).is_none_or(gone) {
            Seat::Vacant(first)
        } else {
            Seat::New(Spot::After(first))
        }
    }

    /// The nodes whose hulls have to be widened for a seat below a node: that one, and those above it, as far as the seat is
    /// beyond their end. Their granules are not, as the seat is of that of a leaf that they have.
    pub(super) fn widened_by(&self, seat: Seat, node: Node) -> Widened {
        let hulls = match seat {
            Seat::New(Spot::After(place)) => self.shape.climb(node, |above| self.places(above).last == place),
            Seat::New(Spot::Before(place)) => {
                self.shape.climb(node, |above| self.places(above).first == place)
            }
            _ => Vec::new(),
        };
        Widened { hulls: hulls.into_iter().map(|step| step.0).collect(), granules: Vec::new() }
    }

    /// Seats a leaf, for which those hulls have to be widened: its place, and how many labels of others have been changed.
    pub(super) fn seat(&mut self, leaf: Node, seat: Seat, widened: &Widened) -> (Place, usize) {
        match seat {
            Seat::OfParent(place) | Seat::Vacant(place) => {
                self.line.occupy(place, leaf);
                (place, 0)
            }
            Seat::New(spot) => {
                let (place, moved) = self.line.insert(spot, leaf);
                for &node in &widened.hulls {
                    let hull = self.hulls[node.index()];
                    let wider = match spot {
                        Spot::Before(_) => Hull { first: place, ..hull },
                        _ => Hull { last: place, ..hull },
                    };
                    self.set_hull(node, wider);
                }
                (place, moved)
            }
        }
    }
}
