//! Pools: the tasks ready for one worker. A ring for each priority holds what the worker spawns for itself, an
//! inbox what others send.

mod backlog;
mod inbox;
mod ring;

#[cfg(all(test, model = "loom"))]
pub(crate) use backlog::Backlog;
pub(crate) use inbox::Inbox;
pub(crate) use ring::Ring;
