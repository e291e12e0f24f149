//! Replies to lines of text, from a small engine. Programs of tests share this.

use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::Client;

/// Starts an engine with a few shards.
pub fn start() -> (Runtime, Engine) {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(4).build(&rt);
    (rt, engine)
}

/// Runs a command, and returns its reply with spaces for line ends.
pub fn run(client: &mut Client, line: &str) -> String {
    let reply = client.run(line.split(' ')).unwrap();
    String::from_utf8_lossy(&reply).trim_end().replace("\r\n", " ")
}
