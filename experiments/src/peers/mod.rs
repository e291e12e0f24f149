//! Wraps the indexes of other authors, each behind the few operations that YCSB needs, and runs
//! plans on them with plain threads: one thread for each worker, one operation after another.
//!
//! | file | what it wraps |
//! |---|---|
//! | `map` | the operations of an index, and the threads |
//! | `scc` | `scc::TreeIndex`, a B+ tree |
//! | `congee` | `congee::Congee`, an adaptive radix tree |
//! | `skiplist` | `crossbeam_skiplist::SkipMap` |
//! | `btreemap` | `std::collections::BTreeMap` under one lock |
//! | `threads` | the tree of this project on plain threads, and an upper bound for its nodes |

pub mod btreemap;
pub mod congee;
pub mod map;
pub mod scc;
pub mod skiplist;
#[allow(unsafe_code, reason = "replaces what the runtime does for a tree")]
pub mod threads;
