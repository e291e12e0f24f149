//! The event loop: closed loop, and loading.

use super::connection::{Connection, failed};
use super::dialect::{Dialect, Part, Protocol};
use super::kind::{Popularity, RequestKind};
use super::oracle::Oracle;
use super::records::Values;
use super::source::Source;
use mio::{Events, Interest, Poll, Token};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_harness::random::Random;
use xtasking_harness::report::Parameters;

/// What all servers are loaded with.
#[derive(Clone, Copy)]
pub(in crate::store) struct Load {
    pub keys: u64,
    pub value_size: usize,
    pub connections: usize,
    pub popularity: Popularity,
    pub seed: u64,
}

impl Load {
    /// Returns its values for a report.
    pub fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("keys", self.keys);
        parameters.add("value_bytes", self.value_size);
        parameters.add("connections", self.connections);
        parameters.add("popularity", format!("{:?}", self.popularity).to_lowercase());
        parameters.add("seed", self.seed);
        parameters
    }
}

/// Connections to a server, with what is known of its records.
pub(in crate::store) struct Client {
    pub(super) load: Load,
    pub(super) connections: Vec<Connection>,
    pub(super) oracle: Oracle,
    pub(super) dialect: Dialect,
    poll: Poll,
    events: Events,
    /// The number of turns: each has random numbers of its own.
    turns: u64,
}

/// The requests of a turn, and how long they took.
pub(in crate::store) struct Work {
    pub requests: u64,
    pub time: Duration,
}

/// Records that a connection sends at once while they are loaded.
const LOADED_AT_ONCE: u64 = 256;
/// A server that answers nothing for this long is taken to hang.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

impl Client {
    /// Connects, and writes all records.
    ///
    /// # Errors
    ///
    /// If a connection fails, or a reply is wrong.
    pub fn load(address: SocketAddr, protocol: Protocol, load: Load) -> Result<Self, Wrong> {
        let mut client = Self::connect(address, protocol, load).map_err(|error| failed(&error))?;
        let mut loaded = 0;
        client.keep_busy(|connection, dialect, oracle| {
            let chunk = loaded..load.keys.min(loaded + LOADED_AT_ONCE);
            loaded = chunk.end;
            let out = connection.outgoing();
            for record in chunk.clone() {
                dialect.write(record, 0, oracle.values, out.bytes);
                out.parts.extend([Part::Stored, Part::Answered { due: 0 }]);
            }
            !chunk.is_empty()
        })?;
        Ok(client)
    }

    fn connect(address: SocketAddr, protocol: Protocol, load: Load) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut connections = Vec::with_capacity(load.connections);
        for number in 0..load.connections {
            let mut connection = Connection::open(number as u32, address)?;
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut connection.stream, Token(number), interest)?;
            connections.push(connection);
        }
        let values = Values { size: load.value_size, seed: load.seed };
        Ok(Self {
            load,
            connections,
            oracle: Oracle::new(load.keys, values),
            dialect: Dialect::new(protocol, load.value_size),
            poll,
            events: Events::with_capacity(1024),
            turns: 0,
        })
    }

    /// Keeps all connections busy for a time: each sends a pipeline of requests as soon as all
    /// those before are answered, and at least one.
    ///
    /// # Errors
    ///
    /// If a connection fails, or a reply is wrong.
    pub fn closed_loop(
        &mut self,
        kind: &RequestKind,
        pipeline: usize,
        time: Duration,
    ) -> Result<Work, Wrong> {
        let mut source = self.source(kind);
        let began = Instant::now();
        // The connections that have sent nothing yet come first.
        let mut idle = self.connections.len();
        let requests = self.keep_busy(|connection, dialect, oracle| {
            if idle == 0 && began.elapsed() >= time {
                return false;
            }
            idle = idle.saturating_sub(1);
            source.look_ahead(pipeline, oracle);
            let mut out = connection.outgoing();
            for _ in 0..pipeline {
                source.request(0, dialect, oracle, &mut out);
            }
            true
        })?;
        Ok(Work { requests, time: began.elapsed() })
    }

    /// Returns requests of a kind, others in each turn.
    pub(super) fn source(&mut self, kind: &RequestKind) -> Source {
        self.turns += 1;
        let random = Random::new(self.load.seed, &[self.turns]);
        // Inserted records have no place in the distributions over those that were loaded.
        Source::new(kind, self.load.popularity, self.load.keys, random)
    }

    /// Lets each connection send what `fill` appends, as soon as all requests before are answered,
    /// until it appends nothing and returns false. Returns the number of requests.
    fn keep_busy(
        &mut self,
        mut fill: impl FnMut(&mut Connection, &Dialect, &mut Oracle) -> bool,
    ) -> Result<u64, Wrong> {
        let (mut busy, mut answered) = (0, 0);
        for connection in &mut self.connections {
            if fill(connection, &self.dialect, &mut self.oracle) {
                connection.flush()?;
                busy += 1;
            }
        }
        while busy > 0 {
            self.look(PATIENCE)?;
            if self.events.is_empty() {
                return Err(silent());
            }
            self.handle(
                |_| answered += 1,
                |connection, dialect, oracle| {
                    if fill(connection, dialect, oracle) {
                        return connection.flush();
                    }
                    busy -= 1;
                    Ok(())
                },
            )?;
        }
        Ok(answered)
    }

    /// Looks for events, and waits for them at most for a time.
    pub(super) fn look(&mut self, most: Duration) -> Result<(), Wrong> {
        loop {
            match self.poll.poll(&mut self.events, Some(most)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                looked => return looked.map_err(|error| failed(&error)),
            }
        }
    }

    /// Handles the events that were found. `answered` gets when each answered request was due, and
    /// `at_rest` each connection whose last reply has come.
    pub(super) fn handle(
        &mut self,
        mut answered: impl FnMut(u64),
        mut at_rest: impl FnMut(&mut Connection, &Dialect, &mut Oracle) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        for event in &self.events {
            let connection = &mut self.connections[event.token().0];
            if event.is_writable() {
                connection.flush()?;
            }
            let is_over = event.is_read_closed() || event.is_error();
            if (event.is_readable() || is_over) && connection.is_busy() {
                connection.receive(&self.dialect, &mut self.oracle, is_over, &mut answered)?;
                if !connection.is_busy() {
                    at_rest(connection, &self.dialect, &mut self.oracle)?;
                }
            }
        }
        Ok(())
    }
}

/// The failure of a server that is taken to hang.
pub(super) fn silent() -> Wrong {
    Wrong::new(format!("the server has answered nothing for {PATIENCE:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        None,
        LosesAWrite,
        FindsNothing,
        GivesAnotherValue,
        AnswersWithAnError,
        AnswersTwice,
        Closes,
    }

    /// Serves SET and GET to one client; from a request on, with a fault.
    fn serve(stream: TcpStream, fault: Fault) -> io::Result<()> {
        let mut out = stream.try_clone()?;
        let mut input = BufReader::new(stream);
        let line = |input: &mut BufReader<TcpStream>| -> io::Result<usize> {
            let mut line = String::new();
            input.read_line(&mut line)?;
            line.trim_end().get(1..).and_then(|size| size.parse().ok()).ok_or(ErrorKind::UnexpectedEof.into())
        };
        let mut values = HashMap::new();
        for request in 0.. {
            let mut arguments = Vec::new();
            for _ in 0..line(&mut input)? {
                let mut argument = vec![0; line(&mut input)? + 2];
                input.read_exact(&mut argument)?;
                arguments.push(argument[..argument.len() - 2].to_vec());
            }
            let has_fault = request > 500;
            let reply = match &arguments[..] {
                [_, key, value] => {
                    if !(has_fault && fault == Fault::LosesAWrite) {
                        values.insert(key.clone(), value.clone());
                    }
                    b"+OK\r\n".to_vec()
                }
                [_, _] if has_fault && fault == Fault::FindsNothing => b"$-1\r\n".to_vec(),
                [_, _] if has_fault && fault == Fault::AnswersWithAnError => b"-ERR\r\n".to_vec(),
                [_, _] if has_fault && fault == Fault::Closes => return Ok(()),
                [_, key] => {
                    let mut value = values[key].clone();
                    value[7] ^= u8::from(has_fault && fault == Fault::GivesAnotherValue);
                    let repeats = 1 + usize::from(has_fault && fault == Fault::AnswersTwice);
                    [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat().repeat(repeats)
                }
                _ => unreachable!("there are no such requests"),
            };
            out.write_all(&reply)?;
        }
        Ok(())
    }

    fn outcome(fault: Fault) -> Result<Work, Wrong> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::scope(|scope| {
            // It ends with the connection.
            scope.spawn(|| serve(listener.accept().unwrap().0, fault));
            let load =
                Load { keys: 100, value_size: 8, connections: 1, popularity: Popularity::Uniform, seed: 1 };
            let mut client = Client::load(address, Protocol::Resp, load)?;
            // One pipeline has more requests than come before the fault.
            client.closed_loop(&"a".parse().unwrap(), 2000, Duration::ZERO)
        })
    }

    #[test]
    fn a_server_without_a_fault_passes() {
        assert_eq!(outcome(Fault::None).unwrap().requests, 2000);
    }

    #[test]
    fn every_fault_of_a_server_is_found() {
        for (fault, words) in [
            (Fault::LosesAWrite, "where that of a write from"),
            (Fault::FindsNothing, "a reply has \"$-1"),
            (Fault::GivesAnotherValue, "where that of a write from"),
            (Fault::AnswersWithAnError, "a reply has \"-ERR"),
            (Fault::AnswersTwice, "where"),
            (Fault::Closes, "connection"),
        ] {
            let wrong = outcome(fault).err().unwrap_or_else(|| panic!("{fault:?} was not found")).to_string();
            assert!(wrong.contains(words), "{fault:?}: {wrong}");
        }
    }
}
