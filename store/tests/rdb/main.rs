//! Redis' format beside Redis: dumps and files go both ways.

mod contents;
mod dumps;
mod files;
mod folder;
#[cfg(feature = "program")]
mod program;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../oracle/redis.rs"]
mod redis;
#[path = "../oracle/reply.rs"]
mod reply;
mod snapshots;
#[path = "../oracle/target.rs"]
mod target;

use target::Target;
