//! A connection that does not block.

use super::dialect::{Dialect, Part};
use super::oracle::{Oracle, start};
use super::source::Outgoing;
use mio::net::TcpStream;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use xtasking_harness::failure::Wrong;

/// A connection, with the replies that are to come.
pub(super) struct Connection {
    number: u32,
    pub stream: TcpStream,
    /// Requests, of which some bytes are sent.
    requests: Vec<u8>,
    sent: usize,
    /// What has come, of which `start..end` is not checked yet.
    input: Vec<u8>,
    start: usize,
    end: usize,
    parts: VecDeque<Part>,
}

/// The bytes that are received at once.
const INPUT: usize = 64 << 10;

impl Connection {
    pub fn open(number: u32, address: SocketAddr) -> io::Result<Self> {
        // The first connection attempt blocks: an event loop is of no use for that.
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            number,
            stream: TcpStream::from_std(stream),
            requests: Vec::new(),
            sent: 0,
            input: vec![0; INPUT],
            start: 0,
            end: 0,
            parts: VecDeque::new(),
        })
    }

    /// Returns true if replies are to come.
    pub fn is_busy(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Returns where to append requests, which [`flush`](Self::flush) sends.
    pub fn outgoing(&mut self) -> Outgoing<'_> {
        Outgoing { connection: self.number, bytes: &mut self.requests, parts: &mut self.parts }
    }

    /// Sends what the system takes.
    pub fn flush(&mut self) -> Result<(), Wrong> {
        while self.sent < self.requests.len() {
            match self.stream.write(&self.requests[self.sent..]) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(failed(&error)),
            }
        }
        self.requests.clear();
        self.sent = 0;
        Ok(())
    }

    /// Receives replies until there are no more at the moment, and checks them. `is_over` says that
    /// the server has closed the connection, and `answered` gets the time at which each request
    /// that is answered was due.
    pub fn receive(
        &mut self,
        dialect: &Dialect,
        oracle: &mut Oracle,
        is_over: bool,
        mut answered: impl FnMut(u64),
    ) -> Result<(), Wrong> {
        loop {
            self.make_room();
            match self.stream.read(&mut self.input[self.end..]) {
                Ok(0) => return Err(Wrong::new("the server has closed a connection")),
                Ok(bytes) => {
                    self.end += bytes;
                    self.check(dialect, oracle, &mut answered)?;
                    // There is an event for what comes after a read of less than was asked for. The
                    // end of the connection may have come with the event for this read.
                    if cfg!(target_os = "linux") && !is_over && self.end < self.input.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(failed(&error)),
            }
        }
    }

    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.input.len() {
            if self.start == 0 {
                self.input.resize(2 * self.end, 0);
            }
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }

    fn check(
        &mut self,
        dialect: &Dialect,
        oracle: &mut Oracle,
        answered: &mut impl FnMut(u64),
    ) -> Result<(), Wrong> {
        let bytes = &self.input[self.start..self.end];
        self.start += check_replies(&mut self.parts, bytes, dialect, oracle, answered)?;
        Ok(())
    }
}

/// Checks the replies that have come, and takes their parts. Returns the number of their bytes.
///
/// # Errors
///
/// If another reply has come, or more than were asked for.
pub(super) fn check_replies(
    parts: &mut VecDeque<Part>,
    bytes: &[u8],
    dialect: &Dialect,
    oracle: &mut Oracle,
    answered: &mut impl FnMut(u64),
) -> Result<usize, Wrong> {
    let mut checked = 0;
    while let Some(&part) = parts.front() {
        let Some(length) = dialect.check(part, oracle, &bytes[checked..])? else {
            return Ok(checked);
        };
        checked += length;
        parts.pop_front();
        match part {
            Part::Write(write) => oracle.acknowledge(write),
            Part::Insert(record) => oracle.inserted(record),
            Part::Answered { due } => answered(due),
            Part::Count(_) | Part::Value { .. } | Part::End | Part::Stored | Part::Queued => {}
        }
    }
    match &bytes[checked..] {
        [] => Ok(checked),
        more => Err(Wrong::new(format!("after all replies there is \"{}\"", start(more)))),
    }
}

pub(super) fn failed(error: &io::Error) -> Wrong {
    Wrong::new(format!("a connection failed: {error}"))
}
