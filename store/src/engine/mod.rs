//! Runs the requests of sessions as annotated tasks.
//!
//! | file | contents |
//! |---|---|
//! | `builder` | [`Builder`]: how an engine is made |
//! | `engine` | [`Engine`]: requests are submitted to it |
//! | `batch` | the requests of one session under way |
//! | `plan` | which requests run in the next task, and on which shards |
//! | `run` | the body of that task |
//! | `calls` | counts of the commands that it has run |
//! | `blocked` | sessions that wait for keys |
//! | `serve` | runs a blocked command again |
//! | `durable` | what the log has to do with requests |
//! | `replay` | replays the log |
//! | `client` | [`Client`]: a session for threads that wait for replies |
//!
//! # The way of a request
//!
//! [`Engine::submit`] takes a session and its requests, in order. As many of the next requests as
//! need few shards together become one task on those shards; a command on several shards is so one
//! task on several objects, atomic and free of deadlock. When its task is done the next one is
//! spawned, and after the last request the session and the replies go to the caller's function.
//!
//! A command that waits for keys parks the whole batch. The task that changes such a key runs the
//! parked command itself, before it leaves the shard: so no other client comes between. If that
//! command needs a shard besides, which the task does not hold, the next task runs it.

mod batch;
mod blocked;
mod builder;
mod calls;
mod client;
mod durable;
#[expect(clippy::module_inception, reason = "the type of this name")]
mod engine;
mod plan;
mod replay;
mod run;
mod serve;
#[cfg(test)]
mod tests;

pub use batch::Finished;
pub use builder::Builder;
pub use client::Client;
pub use engine::Engine;
