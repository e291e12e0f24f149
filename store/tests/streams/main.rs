//! Streams: beside Redis, what is replayed of their changes, and commands that wait for entries.

mod beside;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../oracle/redis.rs"]
mod redis;
mod replay;
#[path = "../oracle/reply.rs"]
mod reply;
mod scripts;
#[path = "../oracle/target.rs"]
mod target;
mod waiting;

use target::Target;
use xtasking_store::engine::Client;

/// Runs a command, and returns its reply with spaces for line ends.
fn run(client: &mut Client, line: &str) -> String {
    String::from_utf8_lossy(&client.line(line)).trim_end().replace("\r\n", " ")
}

/// The number of random scripts: the variable `XTASKING_STORE_SCRIPTS` may set it.
fn scripts() -> u64 {
    let set = std::env::var("XTASKING_STORE_SCRIPTS").ok();
    set.map_or(20, |text| text.parse().expect("XTASKING_STORE_SCRIPTS is a number"))
}
