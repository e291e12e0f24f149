//! Streams: beside Redis, what is replayed of their changes, and commands that wait for entries.

mod beside;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../oracle/redis.rs"]
mod redis;
mod replay;
#[path = "../oracle/reply.rs"]
mod reply;
mod scripts;
mod waiting;

use redis::Connection;
use xtasking_store::engine::Client;
use xtasking_store::resp::Reply;

/// What commands can be sent to: Redis, or the store.
trait Target {
    fn ask(&mut self, args: &[&[u8]]) -> Vec<u8>;

    /// Sends a command that is written as words.
    fn line(&mut self, line: &str) -> Vec<u8> {
        let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.ask(&args)
    }
}

impl Target for Client {
    fn ask(&mut self, args: &[&[u8]]) -> Vec<u8> {
        self.run(args).expect("a running engine")
    }
}

impl Target for Connection {
    fn ask(&mut self, args: &[&[u8]]) -> Vec<u8> {
        let mut request = Reply::default();
        request.array(args.len());
        args.iter().for_each(|arg| request.bulk(arg));
        self.send(&request.into_bytes());
        self.receive()
    }
}

/// Runs a command, and returns its reply with spaces for line ends.
fn run(client: &mut Client, line: &str) -> String {
    String::from_utf8_lossy(&client.line(line)).trim_end().replace("\r\n", " ")
}

/// The number of random scripts: the variable `XTASKING_STORE_SCRIPTS` may set it.
fn scripts() -> u64 {
    let set = std::env::var("XTASKING_STORE_SCRIPTS").ok();
    set.map_or(20, |text| text.parse().expect("XTASKING_STORE_SCRIPTS is a number"))
}
