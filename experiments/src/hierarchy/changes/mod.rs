//! Runs turns in which tasks change the hierarchy, and panic halfway.
//!
//! Some tasks insert small sub-trees and remove them again, or link and unlink nodes where nodes
//! have several parents; some of all tasks panic when they are half done. As soon as the program
//! sees a failed task, it spawns one that repairs everything poisoned. The data say how: each node
//! names the last task there, and the change that it had begun; the [ledger] says whether
//! that task was done. Counts, insertions and links are undone, as if the task had never run.
//! Removals and unlinkings are finished, as removed data cannot be restored. A task that meets
//! poisoned data before the repair does not run.
//!
//! After the turn a [model](replay) replays all tasks that are done, in their order. Their results,
//! and the final hierarchy, have to be equal.
//!
//! | module | what it holds |
//! |---|---|
//! | `jobs` | what the tasks do: a stream from a seed |
//! | `ledger` | which tasks are done, and in which order |
//! | `value` | the data of a node |
//! | `execution` | a task that does its job, or panics |
//! | `repair` | a task that repairs poisoned data |
//! | `replay` | a sequential replay on a plain copy |
//! | `turn` | one turn, and its check |

mod execution;
mod jobs;
mod ledger;
mod repair;
mod replay;
#[cfg(test)]
mod tests;
mod turn;
mod value;

pub(super) use jobs::{Chances, Job, draw};
pub(super) use turn::Work;
