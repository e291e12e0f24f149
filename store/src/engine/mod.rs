//! Runs the requests of sessions as annotated tasks.
//!
//! | file | contents |
//! |---|---|
//! | `builder` | [`Builder`]: how an engine is made |
//! | `engine` | [`Engine`]: requests are submitted to it |
//! | `batch` | the requests of one session under way |
//! | `plan` | which shards a request needs |
//! | `turn` | what one task does for a batch: requests one after the other |
//! | `ahead` | the next requests, looked at before they run |
//! | `run` | what it does while it holds shards: one request |
//! | `calls` | counts of what it has done |
//! | `cost` | the costs of tasks |
//! | `part` | replies that are sent while a request waits |
//! | `timing` | how long requests take |
//! | `blocked` | sessions that wait for keys |
//! | `pausing` | holds requests while CLIENT PAUSE is in force |
//! | `serve` | runs a blocked command again |
//! | `durable` | what the log has to do with requests |
//! | `replay` | replays the log |
//! | `stages` | which units of it can be replayed side by side |
//! | `load` | loads a file of Redis |
//! | `parcel` | its records on their way to a shard |
//! | `import` | loads an append-only file of Redis |
//! | `eviction` | evicts keys when there is too little memory |
//! | `sweep` | which shards may have a key to evict |
//! | `room` | which commands are refused when none can go |
//! | `round` | goes from shard to shard when settings have changed |
//! | `polling` | looks for events when shards were left |
//! | `upkeep` | what it does again and again |
//! | `freeing` | frees what was removed and is large |
//! | `snapshot` | takes snapshots |
//! | `client` | [`Client`]: a session for threads that wait for replies |
//!
//! # The way of a request
//!
//! [`Engine::submit`] takes a session and its requests, in order. A task runs one after the other,
//! each inside of its shards: a command on several keys enters several objects at once, and is
//! atomic. It enters only what is free ([`try_call`](xtasking::TaskBuilder::try_call)). Where
//! shards are not, a task on them runs the request, and another one goes on. After the last request
//! the session and the replies go to the caller's function.
//!
//! A command that waits for keys parks the whole batch. The task that changes such a key runs the
//! parked command itself, before it leaves the shard: so no other client comes between. If that
//! command needs a shard besides, which the task does not hold, the next task runs it.

mod ahead;
mod batch;
mod blocked;
mod builder;
mod calls;
mod client;
mod cost;
mod durable;
#[expect(clippy::module_inception, reason = "the type of this name")]
mod engine;
mod eviction;
#[cfg(test)]
mod eviction_tests;
mod freeing;
mod import;
mod load;
mod parcel;
mod part;
#[cfg(test)]
mod part_tests;
mod pausing;
mod plan;
mod polling;
mod replay;
mod room;
mod round;
mod run;
mod serve;
mod snapshot;
#[cfg(test)]
mod snapshot_tests;
mod stages;
mod sweep;
#[cfg(test)]
mod tests;
mod timing;
mod turn;
mod upkeep;

pub(crate) use batch::MOST_REPLIES;
pub use batch::{Completion, Finished};
pub use builder::Builder;
pub use client::Client;
pub use engine::Engine;
pub use load::LoadProgress;
pub use part::SendEarly;
pub(crate) use upkeep::{TICK, Upkeep};
