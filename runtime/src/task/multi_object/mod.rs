//! Tasks with several objects: all are granted at once, and every two such tasks in the same order.
//!
//! | file | contents |
//! |---|---|
//! | `spawn` | checks the objects, writes the descriptors, enlists the placeholders |
//! | `placeholder` | the descriptors that queue at the homes of sequenced objects |
//! | `object_set` | the objects, sorted by address: enter, leave, hand on |
//! | `body` | runs the task |
//!
//! # Latched objects
//!
//! When the task runs, it latches its objects in ascending address order. A latch is held only
//! while a task runs, and a running task waits for nothing but latches. So the order of addresses
//! rules out deadlock.
//!
//! # Sequenced objects
//!
//! A sequenced object belongs to its home. For each one the task sends a *placeholder*, which
//! queues among the object's other tasks:
//!
//! 1. `enlist` pushes all placeholders of a task to their homes in one step.
//! 2. When a placeholder's turn comes, its home *holds* the object for the task, and from then on
//!    defers every task that comes for the object. If another task holds it already, the
//!    placeholder itself is deferred.
//! 3. The home decrements `pending`. The home that decrements it to zero sends the task.
//! 4. The task runs, and sends each placeholder back to its home.
//! 5. The home hands the object to the task that was deferred first, and frees the placeholder.
//!
//! Because of step 1, any two tasks have the same order in every queue where they meet. Without it,
//! two workers could each hold an object that the other task needs:
//!
//! ```text
//! home of a: holds a for task 1        home of b: holds b for task 2
//! task 1 waits for b                   task 2 waits for a
//! ```
//!
//! (Two-phase enqueue, as in behaviour-oriented concurrency.) The loom model `model::grant` shows
//! that the step is needed.
//!
//! # Memory
//!
//! The placeholders of a task are linked to each other, and step 4 uses them again. So all memory
//! that the task will ever need is allocated before anything is sent. A spawn may fail for lack of
//! memory, but a task that holds an object can always release it.

mod body;
mod object_set;
mod placeholder;
mod spawn;
#[cfg(test)]
mod tests;

pub use object_set::{AccessList, FixedList, ObjectGrants, ObjectList};
pub(crate) use object_set::{leave_first, mend_all, poison_all};
pub(crate) use spawn::launch;
