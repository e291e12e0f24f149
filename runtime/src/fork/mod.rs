//! Fork and join: work that a task divides and waits for.
//!
//! A join pushes its second half onto its worker's *fork stack*, an array that nobody else looks at, and runs the first.
//! Unless somebody is hungry meanwhile it takes the second half back and runs it as well: that costs a few instructions,
//! and no other core notices. Only where a worker has nothing to do the next join *offers* its oldest half, the one with
//! the most work in it, for any idle worker to take. (Lazy task creation is Mohr's, Kranz's and Halstead's, 1991; that the
//! owner itself hands out work, so that its own stack needs no atomic, is after Acar, Charguéraud and Rainey, "Scheduling
//! Parallel Programs by Work Stealing with Private Deques", 2013.)
//!
//! Who waits for a half that was taken asks the thief for a part of that very half, and runs it. So it works only on what
//! it waits for, and needs no more stack than if it had run all by itself: see Wagner and Calder, "Leapfrogging", 1993.

mod divide;
mod job;
mod join;
mod lending;
mod over;
mod run;
mod scope;
mod stack;

pub use divide::Divide;
pub(crate) use job::Job;
pub use join::Fork;
pub use over::Over;
pub use scope::Scope;
pub(crate) use stack::{ForkStack, Forks, Top};
