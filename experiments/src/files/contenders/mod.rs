//! The contenders, a file for each. A new one is a file with an `ENTRY`, and a line in [`ALL`].
//!
//! | file | what it holds |
//! |---|---|
//! | `rwlock` | one lock for a `plain` tree |
//! | `coupled` | a lock for each node, taken by coupling |
//! | `nested` | a lock for each node; the path stays locked |
//! | `dashmap` | a concurrent map of paths |
//! | `actors` | threads with inboxes, which own the top directories |
//! | `stm` | transactional memory |
//! | `hierarchy` | tasks of this runtime, with claims of sub-trees |
//! | `trees` | tasks of this runtime, whose plans claim nodes of its trees |
//! | `simulated` | those on threads, in virtual time |
//! | `threads`, `tasks` | what drives a shared file system, and one whose operations are tasks |

mod actors;
mod coupled;
mod dashmap;
mod hierarchy;
mod nested;
mod plain;
mod rwlock;
mod simulated;
mod stm;
mod tasks;
#[cfg(test)]
mod tests;
mod threads;
mod trees;

use super::contender::Entry;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    rwlock::ENTRY,
    coupled::ENTRY,
    nested::ENTRY,
    dashmap::ENTRY,
    actors::ENTRY,
    stm::ENTRY,
    hierarchy::UNORDERED,
    hierarchy::ORDERED,
    trees::ENTRY,
];
