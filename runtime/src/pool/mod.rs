//! Pools: the tasks ready for one worker. A ring for each priority holds what the worker spawns for itself, an
//! inbox what others send. Tasks that are bound to nothing may lie elsewhere, where others get at them: in a deque, in lanes,
//! or in a queue that all share.

mod backlog;
mod choice;
mod deque;
mod inbox;
mod kautz;
mod lane;
mod ranked;
mod ring;

#[cfg(all(test, model = "loom"))]
pub(crate) use backlog::Backlog;
pub use choice::{Links, Pool, Ranking};
pub(crate) use deque::{Deque, Parcel};
pub(crate) use inbox::Inbox;
pub(crate) use lane::{Entry, Exit, Lane};
pub(crate) use ranked::Ranked;
pub(crate) use ring::Ring;
