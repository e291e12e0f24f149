//! Turns in which tasks change the hierarchy, and panic in their midst.
//!
//! Some tasks insert small sub-trees and remove them again, or link and unlink nodes where nodes have several parents; and some
//! of all tasks panic when they are half done. As soon as the program sees that a task has failed, it spawns one that mends
//! whatever is poisoned. Data tell what is to be done: each node says which task has been there last, and what that was about
//! to do; and whether a task was done is in a [ledger](ledger). What counted or inserted or linked is undone, so that it is as
//! if the task had never run; what removed or unlinked is finished, as what is gone cannot be brought back. Tasks that would
//! meet poisoned data before they are mended do not run.
//!
//! After the turn all tasks that are done are done again, in the order in which they were, on a [plain copy](replay): what they
//! found and what they left has to be the same.
//!
//! | module | what it holds |
//! |---|---|
//! | `deeds` | what the tasks do: a stream from a seed |
//! | `ledger` | which tasks are done, and in which order |
//! | `value` | what is at a node |
//! | `act` | how a task does it, and panics |
//! | `mend` | how another one mends that |
//! | `replay` | the same once more, one after another |
//! | `turn` | all of that |

mod act;
mod deeds;
mod ledger;
mod mend;
mod replay;
#[cfg(test)]
mod tests;
mod turn;
mod value;

pub(super) use deeds::{Chances, Job, draw};
pub(super) use turn::Work;
