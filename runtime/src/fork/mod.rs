//! Fork and join: work that a task divides and waits for.
//!
//! A join pushes its second half onto its worker's *fork stack*, an array that only this worker
//! accesses, and runs the first. Without a steal request it then pops the second half and runs it
//! as well. That costs a few instructions and no communication between cores. Only after a steal
//! request does the next join *offer* its oldest half, which has the most work in it. Any idle
//! worker may take it. (Lazy task creation is by Mohr, Kranz and Halstead, 1991. Stacks without
//! atomics, where the owner hands out work, are after Acar, Charguéraud and Rainey, "Scheduling
//! Parallel Programs by Work Stealing with Private Deques", 2013.)
//!
//! A worker that waits for a stolen half asks the thief for a part of that half, and runs it. So it
//! works only on what it waits for, and needs no more stack than without thieves (Wagner and
//! Calder, "Leapfrogging", 1993).
//!
//! | file | what is in it |
//! |---|---|
//! | `divide` | what can be divided: ranges and slices |
//! | `zip` | two sequences that are divided together |
//! | `job` | the second half of a join, and the protocol between owner and thief |
//! | `join` | [`Fork`] and its joins |
//! | `steal_request` | steal requests, and what answers them |
//! | `over` | parallel loops over a range or slice |
//! | `portions` | items that several tasks take as they get to them |
//! | `pieces` | numbered pieces of work on chosen workers, for the runtime itself |
//! | `run` | running a function on the runtime from a thread outside |
//! | `scope` | any number of pieces that end before their scope |
//! | `stack` | the fork stack |

mod divide;
mod job;
pub(crate) mod join;
mod over;
mod pieces;
mod portions;
mod run;
pub(crate) mod scope;
mod stack;
mod steal_request;
mod zip;

pub use divide::Divide;
pub(crate) use job::Job;
pub(crate) use join::Fork;
pub use over::Over;
pub use portions::Portions;
pub(crate) use stack::{ForkStack, Forks, Top};
pub use zip::{Zip, zip};
