//! The contenders on plain threads, in virtual time.
//!
//! They wait as their originals do, but their steps take no time: neither locks, nor walks, nor
//! messages, nor the log of a transaction. So each is as fast as its idea allows. The tree behind
//! them is a plain one. An operation looks before and after its computation, and fails if another
//! one has changed what it looks at.
//!
//! | file | what it holds |
//! |---|---|
//! | `threads` | clients as threads in virtual time, and the tree |
//! | `lock` | a reader/writer lock in virtual time |
//! | `locks` | one lock, and locks of nodes |
//! | `memory` | transactional memory |
//! | `actors` | threads with inboxes |

pub(super) mod actors;
mod lock;
pub(super) mod locks;
pub(super) mod memory;
mod threads;
