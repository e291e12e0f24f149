//! Hierarchies of data, for tasks on their sub-trees; and numbers that tell which sub-trees overlap.
//!
//! Databases, file systems, CAD models and XML stores work on sub-trees. A task names nodes of a [`Hierarchy`], each of which
//! stands for all below it, and whether it reads or writes them; the runtime runs it when nobody is there whom it must not
//! meet, and side by side with all others.
//!
//! Whether two sub-trees have a node in common has to be known before tasks work on them side by side, at once and without a
//! look at the trees: by intervals. A hierarchy has intervals of granules. Finer ones, for whoever has a shape alone, are
//! those of a [`Numbering`]: each leaf has a label, each other node the *hull* of the labels below it; if two sub-trees
//! overlap, so do their hulls. (DomLock: Kalikar, Nasre, "DomLock: A New Multi-Granularity Locking Technique for
//! Hierarchies", PPoPP 2016.) In a tree, hulls overlap only if the sub-trees do; a node under several parents costs hulls
//! that overlap without need.
//!
//! ```
//! use xtasking_hierarchy::{Node, Numbering, Shape};
//!
//! // 0 has the children 1 and 2, which have two leaves each.
//! let shape = Shape::from_edges(7, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)])?;
//! let mut numbering = Numbering::new(shape, 2);
//! assert!(numbering.hull(Node(0)).overlaps(numbering.hull(Node(1))));
//! assert!(!numbering.hull(Node(1)).overlaps(numbering.hull(Node(2))));
//!
//! let (new, outcome) = numbering.insert(Some(Node(1)), None)?;
//! assert!(numbering.hull(Node(1)).covers(numbering.hull(new)));
//! // It is the last below node 1, whose hull had to be made wider, but not the last below node 0.
//! assert_eq!(outcome.widened.hulls, [Node(1)]);
//! # Ok::<(), xtasking_hierarchy::Refused>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `hierarchy` | data at nodes, claimed by sub-trees: [`Hierarchy`] |
//! | `node` | the name of a node |
//! | `shape` | which nodes there are, and which is under which: [`Shape`] |
//! | `numbering` | labels, hulls and granules, kept right while the shape changes: [`Numbering`] |
//! | `line` | the line on which the leaves stand, and its labels |
//! | `interval` | intervals: [`Interval`] |
//! | `refused` | why a hierarchy is not built or changed so: [`Refused`] |
//! | [`generate`] | hierarchies made up for tests and experiments |

pub mod generate;
mod hierarchy;
mod interval;
mod line;
mod node;
mod numbering;
mod refused;
mod shape;

pub use hierarchy::{
    At, Below, Hierarchy, HierarchyBuilder, IntoNodes, Look, Seen, Slab, Survey, Surveyed, Surveyor, Touch,
    View,
};
pub use interval::Interval;
pub use node::Node;
pub use numbering::{Change, Numbering, Outcome, Widened};
pub use refused::Refused;
pub use shape::{Shape, Subtree};
