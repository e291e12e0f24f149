//! The indexes that others have written, each behind the few operations that YCSB needs, and the plain threads that
//! carry out a plan on them: one thread a worker, one operation after another.
//!
//! | file | what it wraps |
//! |---|---|
//! | `map` | what an index has to offer, and the threads |
//! | `scc` | `scc::TreeIndex`, a B+ tree |
//! | `congee` | `congee::Congee`, an adaptive radix tree |
//! | `skiplist` | `crossbeam_skiplist::SkipMap` |
//! | `btreemap` | `std::collections::BTreeMap` under one lock |
//! | `threads` | the tree of this project by hand, on plain threads, and the ceiling of what its nodes allow |

pub mod btreemap;
pub mod congee;
pub mod map;
pub mod scc;
pub mod skiplist;
#[allow(unsafe_code, reason = "what the runtime does for a tree, done by hand")]
pub mod threads;
