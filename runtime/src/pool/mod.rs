//! Pools: the tasks ready for one worker. A ring for each priority holds what the worker spawns for itself, an
//! inbox what others send.

mod inbox;
mod ring;

pub(crate) use inbox::{Inbox, Take};
pub(crate) use ring::Ring;
