//! Redis and the store as what commands are sent to.

use super::redis::Connection;
use xtasking_store::engine::Client;
use xtasking_store::resp::Reply;

/// What commands can be sent to: Redis, or the store.
pub trait Target {
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
