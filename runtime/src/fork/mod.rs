//! Fork and join: work that a task divides and waits for.
//!
//! A join pushes its second half onto its worker's *fork stack* and runs the first. If no thief has
//! taken the second half, it then pops and runs that as well. This takes a few instructions, none
//! of which is atomic. Idle workers take the *oldest* half, which has the most work in it. A half
//! is *published* before it can be taken: by its owner if that comes to a join, otherwise by the
//! thief, which pays for a barrier on all cores. (Lazy task creation is by Mohr, Kranz and
//! Halstead, 1991. The split into private and public jobs is after Faxén, "Wool—A Work Stealing
//! Library", 2008.)
//!
//! A worker that waits for a stolen half steals parts of that half back. So it works only on what
//! it waits for, and needs no more stack than without thieves (Wagner and Calder, "Leapfrogging",
//! 1993).
//!
//! | file | what is in it |
//! |---|---|
//! | `divide` | what can be divided: ranges and slices |
//! | `zip` | two sequences that are divided together |
//! | `job` | a job in a slot of a fork stack: how one thread alone gets it |
//! | `half` | the body and the result in a job, with their types |
//! | `handover` | what owner and thief share of a stolen job |
//! | `join` | [`Fork`] and its joins |
//! | `steal` | steal requests, and stealing |
//! | `over` | parallel loops over a range or slice |
//! | `portions` | items that several tasks take as they get to them |
//! | `parts` | stealing parts of a job, for a worker that waits for it |
//! | `pieces` | numbered pieces of work on chosen workers, for the runtime itself |
//! | `run` | running a function on the runtime from a thread outside |
//! | `scope` | any number of pieces that end before their scope |
//! | `stack` | the fork stack, as its owner and as thieves see it |
//! | `wait` | what a worker does while it waits: for a stolen job, or in a task for anything else |

mod divide;
mod half;
mod handover;
mod job;
pub(crate) mod join;
mod over;
mod parts;
mod pieces;
mod portions;
mod run;
pub(crate) mod scope;
mod stack;
mod steal;
mod wait;
mod zip;

pub use divide::Divide;
pub(crate) use handover::{Handover, Thief};
pub(crate) use job::{Job, Sight};
pub(crate) use join::Fork;
pub use over::{NestedOver, Over};
#[cfg(all(test, model = "loom"))]
pub(crate) use parts::Path;
pub use portions::Portions;
pub(crate) use stack::{ForkStack, Forks, Top};
pub(crate) use wait::WaitHook;
pub use zip::{Zip, zip};
