//! Hierarchies of data, for tasks that work on sub-trees.
//!
//! Databases, file systems, CAD models and XML stores work on sub-trees. With this crate a task
//! names the nodes it works on, each of which stands for its descendants as well. Tasks whose
//! sub-trees do not overlap run in parallel; others run one after another.
//!
//! A [`Shape`] says which nodes exist and which is a child of which. A [`Hierarchy`] is a shape
//! with data at its nodes, which tasks claim for reading or writing. A [`View`] gives a task's body
//! access to the claimed nodes, to change their data and the shape. A [`Survey`] reads many nodes
//! as they are at one moment, without blocking writers.
//!
//! ```
//! use xtasking::Runtime;
//! use xtasking_hierarchy::{Hierarchy, Node, Shape, View};
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! // Node 0 has the children 1 and 2, which have two leaves each.
//! let shape = Shape::from_edges(7, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)])?;
//! let tree = Hierarchy::builder(shape).build(&rt, |_| 1u64);
//!
//! // Adds a leaf below node 1. Tasks on node 2 may run in parallel.
//! let insert = rt.task(()).claim(tree.node(Node(1)).write()).submit_with(|(), held, cx| {
//!     View::new(held).insert(Node(1), 10, cx)
//! });
//! insert.join()??;
//!
//! // Sums up everything: a sub-tree includes its root.
//! let sum = rt.task(()).claim(tree.node(Node(0)).read()).submit_with(|(), held, _| {
//!     let view = View::new(held);
//!     view.subtree(Node(0)).map(|node| view[node]).sum::<u64>()
//! });
//! assert_eq!(sum.join()?, 17);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Numbering`] stands by itself: it decides in constant time whether two sub-trees of a shape
//! overlap. Each leaf has a label, and each inner node the *hull* of the labels below it; if two
//! sub-trees overlap, so do their hulls. (DomLock: Kalikar, Nasre, "DomLock: A New
//! Multi-Granularity Locking Technique for Hierarchies", PPoPP 2016.) In a tree the converse holds
//! as well. Nodes with several parents cause hulls that overlap without need.
//!
//! | module | contents |
//! |---|---|
//! | `hierarchy` | nodes with data, claimed by sub-tree: [`Hierarchy`], [`View`], [`Survey`] |
//! | `shape` | nodes, and which is a child of which: [`Shape`] |
//! | `numbering` | labels, hulls and granules of a changing shape: [`Numbering`] |
//! | `leaf_list` | the ordered list of leaves with their labels |
//! | `interval` | closed intervals: [`Interval`] |
//! | `node` | the number of a node: [`Node`] |
//! | `error` | the error of building or changing a shape: [`ShapeError`] |
//! | [`generate`] | generated shapes for tests and experiments |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `baselines` | other admissions for claims, for experiments; exempt from semantic versioning |
//!
//! Of other crates the interface names `xtasking` only.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[macro_use(planted)]
extern crate xtasking;

/// Compiles the code of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod error;
pub mod generate;
mod hierarchy;
mod interval;
mod leaf_list;
mod node;
mod numbering;
mod shape;

pub use error::ShapeError;
pub use hierarchy::{
    Hierarchy, HierarchyBuilder, NodeClaim, NodePlanView, NodeRef, NodeView, Slab, Survey, SurveyIntoIter,
    SurveyResult, Surveyor, View, ViewSubtree,
};
pub use interval::Interval;
pub use node::Node;
pub use numbering::{Change, ChangeOutcome, Numbering, WidenedNodes};
pub use shape::{Shape, Subtree};
