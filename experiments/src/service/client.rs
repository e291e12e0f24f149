//! The client: connections that send transfers and check the answers.
//!
//! All connections are served by one thread. In a closed loop each sends its next transfer when the
//! last one is answered. In open loop the transfers are due at given moments, whether or not
//! earlier ones are answered. A connection that is free sends the next one when it is due; the
//! latency counts from that moment, so waiting for a free connection counts as well.

use super::ledger::Ledger;
use super::loads::Transfers;
use super::transfer::{Answer, Receipt, Transfer};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local, yield_now};
use xtasking_harness::failure::Wrong;

/// What the connections of a turn send.
pub(super) struct Turn {
    pub address: SocketAddr,
    pub accounts: usize,
    /// The transfers of each connection.
    pub connections: Vec<Transfers>,
}

/// What a turn has given.
pub(super) struct Outcome {
    pub ledger: Ledger,
    /// Latencies in nanoseconds of the transfers that were served.
    pub latencies: Vec<u64>,
    pub time: Duration,
}

impl Turn {
    /// Sends transfers for a time, or those that are due at the moments of a schedule.
    ///
    /// # Errors
    ///
    /// If a connection fails or an answer is wrong.
    pub fn run(self, time: Duration, schedule: Option<Vec<Duration>>) -> Result<Outcome, Wrong> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let runtime = runtime.map_err(|error| Wrong::new(format!("the client cannot start: {error}")))?;
        LocalSet::new().block_on(&runtime, self.run_connections(time, schedule))
    }

    async fn run_connections(
        self,
        time: Duration,
        schedule: Option<Vec<Duration>>,
    ) -> Result<Outcome, Wrong> {
        let mut senders = Vec::new();
        for transfers in self.connections {
            let connection = Connection::open(self.address).await?;
            let ledger = Ledger::new(self.accounts);
            senders.push(Sender { connection, transfers, ledger, latencies: Vec::new() });
        }
        let pace = Rc::new(Pace { began: Instant::now(), time, schedule, next: Cell::new(0) });
        let senders = senders.into_iter().map(|sender| spawn_local(sender.run(pace.clone())));
        let mut all = Outcome { ledger: Ledger::new(self.accounts), latencies: Vec::new(), time };
        for sender in senders.collect::<Vec<_>>() {
            let sender = sender.await.map_err(|error| Wrong::new(error.to_string()))??;
            all.time = pace.began.elapsed();
            all.ledger.add(sender.ledger)?;
            all.latencies.extend(sender.latencies);
        }
        Ok(all)
    }
}

/// A connection and what it has sent.
struct Sender {
    connection: Connection,
    transfers: Transfers,
    ledger: Ledger,
    latencies: Vec<u64>,
}

impl Sender {
    /// Sends transfers until the turn is over.
    async fn run(mut self, pace: Rc<Pace>) -> Result<Self, Wrong> {
        while let Some(due) = pace.next() {
            wait_until(due).await;
            let transfer = self.transfers.draw();
            let answer = self.connection.send(transfer).await?;
            if matches!(answer, Answer::Done(_) | Answer::Failed) {
                self.latencies.push(due.elapsed().as_nanos() as u64);
            }
            self.ledger.enter(transfer, answer)?;
        }
        Ok(self)
    }
}

/// When the transfers of all connections are due.
struct Pace {
    began: Instant,
    time: Duration,
    schedule: Option<Vec<Duration>>,
    /// The number of the next moment of the schedule.
    next: Cell<usize>,
}

impl Pace {
    /// Returns the moment at which the caller is to send its next transfer; `None` at the end.
    fn next(&self) -> Option<Instant> {
        match &self.schedule {
            None => (self.began.elapsed() < self.time).then(Instant::now),
            Some(schedule) => {
                let due = schedule.get(self.next.replace(self.next.get() + 1))?;
                Some(self.began + *due)
            }
        }
    }
}

/// Waits for a moment more exactly than a timer does, and lets other connections go on meanwhile.
async fn wait_until(moment: Instant) {
    while Instant::now() < moment {
        yield_now().await;
    }
}

/// A connection to a server, which is kept open.
struct Connection {
    stream: TcpStream,
    /// What was received and not used yet.
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self, Wrong> {
        let stream = TcpStream::connect(address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends a transfer and waits for the answer.
    async fn send(&mut self, transfer: Transfer) -> Result<Answer, Wrong> {
        let request = format!("POST {} HTTP/1.1\r\nhost: bank\r\ncontent-length: 0\r\n\r\n", transfer.path());
        self.stream.write_all(request.as_bytes()).await.map_err(failed)?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await.map_err(failed)? == 0 {
                return Err(Wrong::new("the server has closed a connection"));
            }
            if let Some(response) = Response::parse(&self.buffer)? {
                return response.answer();
            }
        }
    }
}

/// Asks a server for a text.
///
/// # Errors
///
/// If the connection fails.
pub(super) fn get(address: SocketAddr, path: &str) -> Result<String, Wrong> {
    let mut stream = std::net::TcpStream::connect(address).map_err(failed)?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: bank\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut buffer = Vec::new();
    stream.read_to_end(&mut buffer).map_err(failed)?;
    match Response::parse(&buffer)? {
        Some(Response { status: 200, body }) => Ok(body.to_string()),
        _ => Err(Wrong::new(format!("the answer to {path} is not complete"))),
    }
}

fn failed(error: std::io::Error) -> Wrong {
    Wrong::new(format!("a connection has failed: {error}"))
}

/// An answer in HTTP/1.1 with the length of its body.
struct Response<'a> {
    status: u16,
    body: &'a str,
}

impl<'a> Response<'a> {
    /// Parses a response. Returns `None` if it is not complete.
    fn parse(received: &'a [u8]) -> Result<Option<Self>, Wrong> {
        let text = std::str::from_utf8(received).map_err(|_| Wrong::new("the answer is not text"))?;
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return Ok(None) };
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let mut headers = lines.filter_map(|line| line.split_once(':'));
        let length = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length = length.and_then(|(_, length)| length.trim().parse::<usize>().ok());
        match (status, length) {
            (Some(status), Some(length)) => Ok(body.get(..length).map(|body| Self { status, body })),
            _ => Err(Wrong::new(format!("no answer in HTTP: {head:?}"))),
        }
    }

    /// Returns the answer to a transfer.
    fn answer(&self) -> Result<Answer, Wrong> {
        match self.status {
            200 => Receipt::parse(self.body).map(Answer::Done),
            500 => Some(Answer::Failed),
            409 => Some(Answer::Disabled),
            503 => Some(Answer::Overloaded),
            _ => None,
        }
        .ok_or_else(|| Wrong::new(format!("the answer has status {} and says {:?}", self.status, self.body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Option<Answer> {
        Response::parse(text.as_bytes()).unwrap().map(|response| response.answer().unwrap())
    }

    #[test]
    fn answers_are_parsed_once_they_are_complete() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\ndate: x\r\n\r\n1 2 3 4";
        for end in 0..text.len() {
            assert!(Response::parse(&text.as_bytes()[..end]).is_err() || answer(&text[..end]).is_none());
        }
        assert!(matches!(answer(text), Some(Answer::Done(Receipt { to, .. })) if to.version == 4));
        let status = |status| answer(&format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n"));
        assert_eq!(status(500), Some(Answer::Failed));
        assert_eq!(status(503), Some(Answer::Overloaded));
        assert_eq!(status(409), Some(Answer::Disabled));
        assert!(Response::parse(b"nonsense\r\n\r\n").is_err());
        assert!(Response { status: 404, body: "" }.answer().is_err());
    }
}
