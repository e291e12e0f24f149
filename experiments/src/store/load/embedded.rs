//! Requests and replies of connections without sockets: the server is in this process.

use super::client::Load;
use super::connection::check_replies;
use super::dialect::{Dialect, Part, Protocol};
use super::kind::RequestKind;
use super::oracle::Oracle;
use super::records::Values;
use super::source::{Outgoing, Source};
use std::collections::VecDeque;
use xtasking_harness::failure::Wrong;
use xtasking_harness::random::Random;

/// What all connections share: which requests come next, and what is known of the records.
pub(in crate::store) struct EmbeddedLoad {
    load: Load,
    oracle: Oracle,
    dialect: Dialect,
    source: Source,
    /// The number of turns: each has random numbers of its own.
    turns: u64,
}

/// A connection, with the replies that are to come.
pub(in crate::store) struct EmbeddedConnection {
    number: u32,
    parts: VecDeque<Part>,
}

impl EmbeddedConnection {
    pub fn new(number: u32) -> Self {
        Self { number, parts: VecDeque::new() }
    }
}

impl EmbeddedLoad {
    pub fn new(load: Load) -> Self {
        let values = Values { size: load.value_size, seed: load.seed };
        let mut load = Self {
            load,
            oracle: Oracle::new(load.keys, values),
            dialect: Dialect::new(Protocol::Resp, load.value_size),
            source: Source::new(&RequestKind::Get, load.popularity, load.keys, Random::new(0, &[])),
            turns: 0,
        };
        load.begin(&RequestKind::Get);
        load
    }

    /// Begins a turn with requests of a kind.
    pub fn begin(&mut self, kind: &RequestKind) {
        self.turns += 1;
        let random = Random::new(self.load.seed, &[self.turns]);
        self.source = Source::new(kind, self.load.popularity, self.load.keys, random);
    }

    /// Appends the requests that load some of the records.
    pub fn load(&self, records: std::ops::Range<u64>, bytes: &mut Vec<u8>) {
        records.for_each(|record| self.dialect.write(record, 0, self.oracle.values, bytes));
    }

    /// Appends requests of a connection.
    pub fn send(&mut self, connection: &mut EmbeddedConnection, requests: usize, bytes: &mut Vec<u8>) {
        let EmbeddedConnection { number, parts } = connection;
        let mut out = Outgoing { connection: *number, bytes, parts };
        for _ in 0..requests {
            self.source.request(0, &self.dialect, &mut self.oracle, &mut out);
        }
    }

    /// Checks replies to a connection. Returns how many requests they answer.
    ///
    /// # Errors
    ///
    /// If a reply is wrong, or not complete.
    pub fn receive(&mut self, connection: &mut EmbeddedConnection, replies: &[u8]) -> Result<u64, Wrong> {
        let mut answered = 0;
        let parts = &mut connection.parts;
        let checked = check_replies(parts, replies, &self.dialect, &mut self.oracle, &mut |_| answered += 1)?;
        if checked < replies.len() {
            return Err(Wrong::new("a reply is not complete"));
        }
        Ok(answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Popularity;

    #[test]
    fn replies_in_pieces_are_checked() {
        let (keys, value_size, connections) = (10, 8, 1);
        let load = Load { keys, value_size, connections, popularity: Popularity::Uniform, seed: 1 };
        let mut load = EmbeddedLoad::new(load);
        load.begin(&RequestKind::Multi(2));
        let mut connection = EmbeddedConnection::new(0);
        let mut bytes = Vec::new();
        load.send(&mut connection, 1, &mut bytes);
        assert!(bytes.starts_with(b"*1\r\n$5\r\nMULTI\r\n") && bytes.ends_with(b"EXEC\r\n"));
        assert_eq!(load.receive(&mut connection, b"+OK\r\n+QUEUED\r\n").unwrap(), 0);
        assert!(load.receive(&mut connection, b"+QUE").is_err(), "a piece of a reply");
        assert_eq!(load.receive(&mut connection, b"+QUEUED\r\n*2\r\n+OK\r\n+OK\r\n").unwrap(), 1);
        assert!(load.receive(&mut connection, b"+OK\r\n").is_err(), "more than was asked for");
    }
}
