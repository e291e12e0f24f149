//! Labels, hulls and granules, kept right while the shape changes.
//!
//! A hull is two places of the [`Line`]: labels can be spread anew without any hull being touched. For each node, its hull
//! covers those of its children, and an inner node's is as narrow as they allow until something below it is removed.

mod build;
mod change;
mod granules;
mod seat;
mod tighten;

pub use change::{Change, Outcome, Widened};

use crate::line::{Line, Place};
use crate::{Interval, Node, Shape};

/// A hierarchy with numbers that tell which of its sub-trees overlap.
///
/// **Labels.** Each leaf has one; those of a tree rise in depth-first order. The [hull](Self::hull) of a node covers the
/// labels of all leaves below it. Where the shape has been a tree all along, built and then changed by insertion and removal
/// only, hulls overlap only if sub-trees do; otherwise they may without need. Labels change now and then, where there is none
/// left between two (the outcome of a change tells of how many leaves), but the order of leaves never does: compare
/// hulls that were read at the same time.
///
/// **Granules.** Leaves are also divided into some hundred granules, which never change while the leaf is there, and do not
/// fall in the order of labels. A new leaf is of the same granule as one beside it. What is known of two nodes' granules can
/// be compared at any later time.
///
/// **Costs.** A node costs 12 bytes and 20 for each of its parents (as one of which a root counts), 8 for its hull, and 32 if
/// it is a leaf. A change takes time for what it removes, for the nodes whose hulls it widens and their parents, for the
/// labels that it moves, and for all parents of the child that is linked or unlinked. To find a cycle, a link also looks at
/// those nodes above the parent whose hulls the child's covers. Labels seldom move; where a million new leaves come to one
/// place it is 17 for each in the mean, but now and then nearly all of these at once.
#[derive(Clone, Debug)]
pub struct Numbering {
    shape: Shape,
    line: Line,
    /// By node; those of nodes that have been removed mean nothing.
    hulls: Vec<Hull>,
    granules: u32,
}

/// The places of a node's first and last leaf. For a leaf both are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hull {
    first: Place,
    last: Place,
}

/// What asks about a node panics if there is none of that number.
impl Numbering {
    /// What has been numbered.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Gives the shape back, to be numbered anew. After links have come and gone that may separate hulls that overlap
    /// without need, as leaves keep their order here.
    pub fn into_shape(self) -> Shape {
        self.shape
    }

    /// An interval that covers the labels of all leaves below a node, or the label of a leaf.
    #[track_caller]
    pub fn hull(&self, node: Node) -> Interval<u64> {
        let hull = self.places(node);
        Interval { low: self.line.label(hull.first), high: self.line.label(hull.last) }
    }

    /// An interval that covers the granules of all leaves below a node, or the granule of a leaf.
    #[track_caller]
    pub fn granules(&self, node: Node) -> Interval<u32> {
        let hull = self.places(node);
        Interval { low: self.line.granule(hull.first), high: self.line.granule(hull.last) }
    }

    /// How many granules there are: they have the numbers below that.
    pub fn granule_count(&self) -> u32 {
        self.granules
    }

    /// The leaves, in the order of their labels.
    pub fn leaves(&self) -> impl Iterator<Item = Node> {
        self.line.iter()
    }

    /// How many leaves there are.
    pub fn leaf_count(&self) -> usize {
        self.line.leaves()
    }

    /// How many labels of leaves that have been removed are still kept, as hulls end there: the more there are, the more
    /// hulls may be wider than need be. There is none after [`tighten_all`](Self::tighten_all).
    pub fn vacant_count(&self) -> usize {
        self.line.vacant()
    }

    #[track_caller]
    fn places(&self, node: Node) -> Hull {
        assert!(self.shape.contains(node), "there is no node {node}");
        self.hulls[node.index()]
    }

    fn covers(&self, outer: Node, inner: Node) -> bool {
        self.hull(outer).covers(self.hull(inner))
    }

    fn set_hull(&mut self, node: Node, hull: Hull) {
        let old = std::mem::replace(&mut self.hulls[node.index()], hull);
        self.line.hold(hull.first);
        self.line.hold(hull.last);
        self.line.release(old.first);
        self.line.release(old.last);
    }

    /// The narrowest hull that covers both.
    fn join(&self, a: Hull, b: Hull) -> Hull {
        let label = |place| self.line.label(place);
        Hull {
            first: if label(b.first) < label(a.first) { b.first } else { a.first },
            last: if label(b.last) > label(a.last) { b.last } else { a.last },
        }
    }
}
