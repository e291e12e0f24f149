//! The client: connections that send requests, and check the replies.
//!
//! One thread serves all connections in turn: it waits for the replies of one, checks them, and
//! sends its next requests, while those of all others are under way.

use super::requests::{Keys, RequestKind, Sent, compare};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;

/// Connections to a server.
pub(super) struct Client {
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    keys: Keys,
    /// The reply of each request that is under way.
    expected: Vec<u8>,
    requests: Vec<u8>,
    got: Vec<u8>,
}

/// Requests that a connection sends at once while keys are loaded.
const LOADED_AT_ONCE: usize = 512;

impl Client {
    /// Connects, and writes all keys.
    ///
    /// # Errors
    ///
    /// If a connection fails, or a reply is wrong.
    pub fn load(
        address: SocketAddr,
        connections: usize,
        keys: u64,
        value_size: usize,
        seed: u64,
    ) -> Result<Self, Wrong> {
        let each = (keys as usize / connections).max(1);
        let open = |number: usize| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            let keys = Keys::new((number * each) as u64, each, value_size, seed ^ (number as u64) << 32);
            Ok(Connection { stream, keys, expected: Vec::new(), requests: Vec::new(), got: Vec::new() })
        };
        let opened: io::Result<Vec<_>> = (0..connections).map(open).collect();
        let mut client = Self { connections: opened.map_err(|error| failed(&error))? };
        for from in (0..each).step_by(LOADED_AT_ONCE) {
            for connection in &mut client.connections {
                let chunk = from..each.min(from + LOADED_AT_ONCE);
                connection.send(chunk.len(), |keys, nth, out| keys.write(from + nth, out))?;
            }
            client.connections.iter_mut().try_for_each(Connection::receive)?;
        }
        Ok(client)
    }

    /// Returns the number of keys that were loaded.
    pub fn keys(&self) -> usize {
        self.connections.iter().map(|connection| connection.keys.len()).sum()
    }

    /// Sends requests for a time. Returns their number and the time that they took.
    ///
    /// # Errors
    ///
    /// If a connection fails, or a reply is wrong.
    pub fn run(
        &mut self,
        kind: RequestKind,
        pipeline: usize,
        time: Duration,
    ) -> Result<(u64, Duration), Wrong> {
        let began = Instant::now();
        let request = |keys: &mut Keys, _: usize, out: &mut Vec<u8>| keys.request(kind, out);
        for connection in &mut self.connections {
            connection.send(pipeline, request)?;
        }
        let mut answered = 0;
        while began.elapsed() < time {
            for connection in &mut self.connections {
                connection.receive()?;
                answered += pipeline as u64;
                connection.send(pipeline, request)?;
            }
        }
        self.connections.iter_mut().try_for_each(Connection::receive)?;
        answered += (pipeline * self.connections.len()) as u64;
        Ok((answered, began.elapsed()))
    }
}

impl Connection {
    /// Sends requests at once.
    fn send(
        &mut self,
        requests: usize,
        mut request: impl FnMut(&mut Keys, usize, &mut Vec<u8>) -> Sent,
    ) -> Result<(), Wrong> {
        self.requests.clear();
        for nth in 0..requests {
            let sent = request(&mut self.keys, nth, &mut self.requests);
            // Right away: the requests before it are served before it.
            self.keys.expect(&sent, &mut self.expected);
        }
        self.stream.write_all(&self.requests).map_err(|error| failed(&error))
    }

    /// Waits for the replies of all requests, and checks them.
    fn receive(&mut self) -> Result<(), Wrong> {
        self.got.resize(self.expected.len(), 0);
        let mut filled = 0;
        while filled < self.got.len() {
            match self.stream.read(&mut self.got[filled..]) {
                Ok(0) => return Err(Wrong::new("the server has closed a connection")),
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&error)),
            }
            // Each part at once: after a reply that is too short, the rest never comes.
            compare(&self.got[..filled], &self.expected[..filled])?;
        }
        self.expected.clear();
        Ok(())
    }
}

fn failed(error: &io::Error) -> Wrong {
    Wrong::new(format!("a connection failed: {error}"))
}
