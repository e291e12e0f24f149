//! Labels, hulls and granules of a shape, kept up to date while it changes.
//!
//! A hull is two positions in the [`LeafList`], so relabelling does not touch any hull. A node's
//! hull covers those of its children. An inner node's hull is as narrow as they allow until a
//! descendant is removed.
//!
//! | file | contents |
//! |---|---|
//! | `build` | the first numbering of a shape |
//! | `change` | inserting, removing, linking and unlinking nodes |
//! | `placement` | where a leaf is put into the list |
//! | `granules` | the granules of nodes, as a few intervals |
//! | `tighten` | narrowing hulls after removals |

mod build;
mod change;
mod granules;
mod placement;
mod tighten;

pub use change::{Change, ChangeOutcome, WidenedNodes};

use crate::leaf_list::{LeafList, Position};
use crate::{Interval, Node, Shape};

/// A shape with numbers that tell which of its sub-trees overlap.
///
/// **Labels.** Each leaf has a label. In a tree, labels ascend in depth-first order. The
/// [hull](Self::hull) of a node covers the labels of all leaves below it. Hulls overlap if the
/// sub-trees do. The converse holds as long as the shape was built as a tree and changed by
/// insertions and removals only. Labels change now and then, when there is none left between two
/// neighbours, but the order of leaves never does. So compare only hulls that were read at the same
/// time. [`ChangeOutcome::relabelled`] counts the changes.
///
/// **Granules.** Leaves are also divided into some hundred granules, which ascend with the labels.
/// A leaf's granule never changes. A new leaf has the granule of a leaf beside it. Hence the
/// granules of two nodes can be compared at any later time.
///
/// **Costs.** A node takes 12 bytes, 20 for each parent (a root counts one), 8 for its hull, and 32
/// if it is a leaf. A change takes time for what it removes, for the nodes whose hulls it widens
/// and their parents, for the labels that change, and for all parents of a child that is linked or
/// unlinked. To rule out a cycle, a link also visits the ancestors of the parent whose hulls the
/// child's hull covers. If a million leaves are inserted at one position, each relabels 17 others
/// on average, but now and then one relabels nearly all of them.
///
/// ```
/// use xtasking_hierarchy::{Node, Numbering, Shape};
///
/// // Node 0 has the children 1 and 2, which have two leaves each.
/// let shape = Shape::from_edges(7, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)])?;
/// let mut numbering = Numbering::new(shape, 2);
/// assert!(numbering.hull(Node(0)).overlaps(numbering.hull(Node(1))));
/// assert!(!numbering.hull(Node(1)).overlaps(numbering.hull(Node(2))));
///
/// let (new, outcome) = numbering.insert(Some(Node(1)), None)?;
/// assert!(numbering.hull(Node(1)).covers(numbering.hull(new)));
/// // The new leaf is the last one below node 1, whose hull was widened, but not below node 0.
/// assert_eq!(outcome.widened.hulls, [Node(1)]);
/// # Ok::<(), xtasking_hierarchy::ShapeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Numbering {
    shape: Shape,
    leaves: LeafList,
    /// Indexed by node; entries of removed nodes are meaningless.
    hulls: Vec<Hull>,
    granules: u32,
}

/// The positions of a node's first and last leaf. For a leaf both are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hull {
    first: Position,
    last: Position,
}

/// Methods panic if a node does not exist.
impl Numbering {
    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the shape, for example to number it anew. After links have been added and removed, a
    /// new numbering may separate hulls that overlap without need, as leaves keep their order here.
    pub fn into_shape(self) -> Shape {
        self.shape
    }

    /// The hull of a node: an interval that covers the labels of all leaves below it, or the label
    /// of a leaf.
    #[track_caller]
    pub fn hull(&self, node: Node) -> Interval<u64> {
        let hull = self.positions(node);
        Interval { low: self.leaves.label(hull.first), high: self.leaves.label(hull.last) }
    }

    /// An interval that covers the granules of all leaves below a node, or the granule of a leaf.
    #[track_caller]
    pub fn granules(&self, node: Node) -> Interval<u32> {
        let hull = self.positions(node);
        Interval { low: self.leaves.granule(hull.first), high: self.leaves.granule(hull.last) }
    }

    /// Number of granules, which are numbered from 0.
    pub fn granule_count(&self) -> u32 {
        self.granules
    }

    /// The leaves, in the order of their labels.
    pub fn leaves(&self) -> impl Iterator<Item = Node> {
        self.leaves.iter()
    }

    /// Number of leaves.
    pub fn leaf_count(&self) -> usize {
        self.leaves.leaf_count()
    }

    /// Number of labels whose leaf was removed, but at which hulls still end. The more there are,
    /// the more hulls may be wider than necessary. [`tighten_all`](Self::tighten_all) frees them
    /// all.
    pub fn vacant_count(&self) -> usize {
        self.leaves.vacant_count()
    }

    #[track_caller]
    fn positions(&self, node: Node) -> Hull {
        assert!(self.shape.contains(node), "node {node} does not exist");
        self.hulls[node.index()]
    }

    fn covers(&self, outer: Node, inner: Node) -> bool {
        self.hull(outer).covers(self.hull(inner))
    }

    fn set_hull(&mut self, node: Node, hull: Hull) {
        let old = std::mem::replace(&mut self.hulls[node.index()], hull);
        self.leaves.hold(hull.first);
        self.leaves.hold(hull.last);
        self.leaves.release(old.first);
        self.leaves.release(old.last);
    }

    /// The narrowest hull that covers both.
    fn join(&self, a: Hull, b: Hull) -> Hull {
        let label = |position| self.leaves.label(position);
        Hull {
            first: if label(b.first) < label(a.first) { b.first } else { a.first },
            last: if label(b.last) > label(a.last) { b.last } else { a.last },
        }
    }
}
