//! Commands on lists, hashes, sets and sorted sets: beside Redis, and where chance or waiting keeps
//! replies from being compared.

mod blocking;
mod chance;
mod effects;
mod generator;
mod memory;
mod oracle;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../oracle/redis.rs"]
mod redis;
#[path = "../oracle/reply.rs"]
mod reply;
mod robust;
mod sorting;

use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::{Builder, Client};

/// Begins an engine with few shards, so that keys share them.
fn builder() -> Builder {
    Engine::builder().shards(8).seed(7)
}

fn engine(rt: &Runtime) -> Engine {
    builder().build(rt)
}

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().expect("two threads")
}

/// Runs a command written as words, and returns its reply as text.
fn run(client: &mut Client, command: &str) -> String {
    let reply = client.run(command.split_whitespace()).expect("a running engine");
    String::from_utf8(reply).expect("a reply of text")
}
