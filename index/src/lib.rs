//! An ordered map for annotated tasks: a B-link tree.
//!
//! Each operation is a chain of tasks. A task names one node and the part of the node that it will
//! access. From these annotations the runtime fetches the part ahead of time, excludes concurrent
//! writers, lets readers run optimistically, and frees nodes that are unlinked. Hence this crate
//! has no latches, no fences and no prefetch instructions.
//!
//! A [`Tree`] maps keys to values of up to 64 bits. Inside the runtime, its operations take a
//! continuation. A [`Client`] makes them available to plain threads: its calls block, and its
//! batches keep many operations in flight. A [`Layout`] says how a node arranges its entries in
//! cache lines; there are [`HintedNode`] (the default) and [`SortedNode`].
//!
//! ```
//! use xtasking::Runtime;
//! use xtasking_index::Tree;
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let tree = Tree::<u64, u64>::new(&rt);
//!
//! // From a plain thread.
//! let client = tree.client(&rt);
//! assert!(client.insert(7, 49)?);
//! assert_eq!(client.get(7)?, Some(49));
//!
//! // From a task: the continuation gets the result.
//! let (promise, handle) = rt.promise();
//! rt.task(()).spawn(move |(), cx| {
//!     tree.get(cx, 7, move |value, _cx| promise.fulfil(value));
//! });
//! assert_eq!(handle.join()?, Some(49));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The tree is that of Lehman and Yao (1981), "Efficient Locking for Concurrent Operations on
//! B-Trees", in the form of MxTasks (SIGMOD'21, section 5). Nodes have right links and high keys.
//! An operation that arrives at a node after its split follows the right link, and no operation but
//! the merging of neighbours holds more than one node.
//!
//! | module | contents |
//! |---|---|
//! | `tree` | the tree and its operations: [`Tree`] |
//! | `client` | access from plain threads: [`Client`] |
//! | [`node`] | nodes and their layouts, usable by themselves |
//! | `key_value` | types of keys and values: [`Key`], [`Value`] |

mod client;
mod key_value;
pub mod node;
mod tree;

pub use client::Client;
pub use key_value::{Key, Value};
pub use node::{HintedNode, Layout, SortedNode, WriteMode};
pub use tree::{DefaultLayout, Defect, Report, Tree, WithState, WriteOutcome, with_state};
