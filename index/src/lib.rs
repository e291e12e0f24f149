//! Maps for annotated tasks: an ordered one, a B-link tree, and a hash map.
//!
//! Each operation is a chain of tasks. A task names one node and the part of the node that it will
//! access. From these annotations the runtime fetches the part ahead of time, excludes concurrent
//! writers, lets readers run optimistically, and frees nodes that are unlinked. Hence this crate
//! has no latches, no fences and no prefetch instructions.
//!
//! A [`Tree`] maps keys to values. Keys are integers, text, or byte strings of any length: a
//! [`Key`] says how a type is encoded. Values are of any type that can be cloned: a [`Value`] is a
//! word of a node, or on the heap. Inside the runtime, the operations of a tree take a
//! continuation. A [`Client`] makes them available to plain threads: its calls block, and its
//! batches keep many operations in flight. A [`Layout`] says how a node arranges its entries in
//! cache lines; there are [`HintedNode`] (the default) and [`SortedNode`] for keys of up to 64
//! bits, and [`BytesNode`] for others.
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
//! client.insert_many(&[(8, 64), (9, 81), (10, 100)])?;
//! assert_eq!(client.scan_range(8..10, 5)?, [(8, 64), (9, 81)]);
//! assert_eq!(client.last_key_value()?, Some((10, 100)));
//! for entry in client.range(..9).rev() {
//!     let (key, value) = entry?;
//!     assert_eq!(value, key * key);
//! }
//! // All at one moment, whatever other threads do.
//! assert_eq!(client.snapshot(..)?.len(), 4);
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
//! A [`HashMap`] has no order, and one cache line for most operations. Its operations, and those of
//! its [`MapClient`], are called as those of the tree:
//!
//! ```
//! use xtasking::Runtime;
//! use xtasking_index::HashMap;
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let map = HashMap::<u64, u64>::new(&rt);
//! let client = map.client(&rt);
//! let squares: Vec<_> = (0..1000).map(|key| (key, key * key)).collect();
//! assert_eq!(client.insert_many(&squares)?.len(), 1000);
//! assert_eq!(client.get_many(&[31, 1000])?, [Some(961), None]);
//! assert_eq!(client.iter().count(), 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The tree is that of Lehman and Yao (1981), "Efficient Locking for Concurrent Operations on
//! B-Trees", in the form of MxTasks (SIGMOD'21, section 5). Nodes have right links and high keys.
//! An operation that arrives at a node after its split follows the right link. No operation holds
//! more than one node, but for the merging of neighbours and for snapshots. The hash map grows by
//! linear hashing (Litwin 1980), one bucket at a time, beside all other operations.
//!
//! | module | contents |
//! |---|---|
//! | `tree` | the tree and its operations: [`Tree`] |
//! | `client` | access from plain threads: [`Client`], and its iterator [`Range`] |
//! | `map` | the hash map, its operations and its client: [`HashMap`], [`MapClient`] |
//! | [`node`] | nodes and their layouts, usable by themselves |
//! | `key_value` | types of keys: [`Key`]; keys and values that words encode |
//! | `bytes_key` | types of keys that are byte strings, or encoded as such |
//! | `value` | types of values: [`Value`] |
//! | `record` | values on the heap, and words that point to them |
//! | `key_space` | how nodes, tasks and walks hold keys: [`KeySpace`] |
//! | `root`, `many` | what both share: the life of their data, and batches |
//! | `batch` | [`Request`], [`Response`]: operations of all kinds in one batch |
//! | `caller`, `write_outcome` | the same: calls of plain threads, and results of writes |
//!
//! The crate has no features. Of other crates its interface names `xtasking` only.

#[macro_use(planted)]
extern crate xtasking;

/// Compiles the code of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod batch;
mod bytes_key;
mod caller;
mod client;
mod key_space;
mod key_value;
mod many;
mod map;
pub mod node;
mod record;
mod root;
mod tree;
mod value;
mod write_outcome;

pub use batch::{Request, Response};
pub use client::{Client, Range};
pub use key_space::{Bytes, EncodedKey, KeySpace, Words};
pub use key_value::{Key, WordKey};
pub use map::{HashMap, MapClient, MapIter, MapMemory, ScanPosition, ScanResult};
pub use node::{BytesNode, HintedNode, Layout, SortedNode, WriteMode};
pub use tree::{DefaultLayout, Defect, LoadError, Report, SnapshotError, Tree, WithState, with_state};
pub use value::{InPlace, OnHeap, Value, ValueForm, WordValue};
pub use write_outcome::WriteOutcome;
