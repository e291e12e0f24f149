//! A B-link tree built from annotated tasks.
//!
//! Every step of an operation is a task on one node that says which part of it will be touched; the runtime fetches
//! that part, keeps writers apart, lets readers through optimistically, and frees what was unlinked. There is no
//! latch, no fence and no prefetch in this crate.
//!
//! - [`Tree`] is the tree. Inside the runtime its operations take a continuation.
//! - [`Client`] is its face for plain threads: calls that return, and batches that keep many operations in flight.
//! - [`node`] has the layouts of nodes, usable by themselves.
//!
//! ```
//! use xtasking::Runtime;
//! use xtasking_index::Tree;
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let tree = Tree::<u64, u64>::new(&rt);
//! let client = tree.client(&rt);
//! assert!(client.insert(7, 49)?);
//! assert_eq!(client.get(7)?, Some(49));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The tree is that of Lehman and Yao (1981), "Efficient Locking for Concurrent Operations on B-Trees", in the form
//! of MxTasks (SIGMOD'21, section 5): nodes have right links and high keys, so that an operation that arrives at a
//! node after its split finds its way, and no operation holds more than one node, but for the merging of neighbours.

mod client;
mod fixed;
pub mod node;
mod tree;

pub use client::Client;
pub use fixed::{Key, Value};
pub use node::{Hinted, Layout, Sorted};
pub use tree::{Carry, DefaultLayout, Defect, Report, Tree, Write, Wrote, carry};
