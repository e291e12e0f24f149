//! What is on its way in a simulated network, and what has arrived.

use super::super::random::Random;
use crate::events::{Interest, Ready, Token};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;
use std::io::{self, ErrorKind};

/// What a simulated [network](super::Network) does to connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkFaults {
    /// The longest time that a piece takes, in virtual time.
    pub longest_delay: Duration,
    /// The largest piece in bytes: a write or a read takes from 1 to this many.
    pub largest_piece: usize,
    /// What a connection holds that is not read, in bytes. Further writes wait.
    pub capacity: usize,
    /// A connection breaks at one write of this many, on average; never if it is 0.
    pub breaks_one_in: u32,
}

impl Default for NetworkFaults {
    /// Delays of up to 100 µs, pieces of up to 4 KiB, 64 KiB of room, and no breaks.
    fn default() -> Self {
        Self {
            longest_delay: Duration::from_micros(100),
            largest_piece: 4096,
            capacity: 64 << 10,
            breaks_one_in: 0,
        }
    }
}

/// The number of one direction of a connection. Two that follow each other, an even and an odd one,
/// are those of one connection.
pub(super) type PipeId = usize;

/// The state of a network.
pub(super) struct Wire {
    faults: NetworkFaults,
    random: Random,
    /// The time of the last look at it.
    now: u64,
    pipes: BTreeMap<PipeId, Pipe>,
    next_pipe: PipeId,
    listeners: BTreeMap<u16, Backlog>,
    /// What arrives, by time and number.
    flying: BTreeMap<(u64, u64), Arrival>,
    sent: u64,
    /// Events that no worker has taken, by worker.
    events: BTreeMap<usize, Vec<(Token, Ready)>>,
}

/// The source that gets events, and of which kind.
#[derive(Clone, Copy)]
pub(super) struct Watcher {
    pub worker: usize,
    pub token: Token,
    pub interest: Interest,
}

/// One direction of a connection.
struct Pipe {
    arrived: VecDeque<u8>,
    /// Bytes on their way.
    flying: usize,
    /// When the last piece that was sent arrives.
    last_arrival: u64,
    state: PipeState,
    /// The writer found no room.
    is_writer_waiting: bool,
    reader: Option<Watcher>,
    writer: Option<Watcher>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PipeState {
    Open,
    /// The writer has ended, and all has arrived.
    Ended,
    Broken,
}

/// Connections that were not accepted.
#[derive(Default)]
struct Backlog {
    waiting: VecDeque<PipeId>,
    watcher: Option<Watcher>,
}

enum Arrival {
    Connection(u16, PipeId),
    Piece(PipeId, Vec<u8>),
    End(PipeId),
}

impl Wire {
    pub fn new(faults: NetworkFaults, seed: u64) -> Self {
        let NetworkFaults { largest_piece, capacity, .. } = faults;
        Self {
            faults: NetworkFaults {
                largest_piece: largest_piece.max(1),
                capacity: capacity.max(1),
                ..faults
            },
            random: Random::new(seed),
            now: 0,
            pipes: BTreeMap::new(),
            next_pipe: 0,
            listeners: BTreeMap::new(),
            flying: BTreeMap::new(),
            sent: 0,
            events: BTreeMap::new(),
        }
    }

    pub fn next_arrival(&self) -> Option<u64> {
        self.flying.first_key_value().map(|(&(at, _), _)| at)
    }

    pub fn has_events(&self, worker: usize) -> bool {
        self.events.contains_key(&worker)
    }

    pub fn take_events(&mut self, worker: usize) -> Vec<(Token, Ready)> {
        self.events.remove(&worker).unwrap_or_default()
    }

    /// Lets arrive what is due.
    pub fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
            match entry.remove() {
                Arrival::Connection(port, pipe) => {
                    let Some(backlog) = self.listeners.get_mut(&port) else {
                        self.break_connection(pipe);
                        continue;
                    };
                    backlog.waiting.push_back(pipe);
                    let watcher = backlog.watcher;
                    self.tell(watcher, Ready::READABLE);
                }
                Arrival::Piece(id, piece) => {
                    let Some(pipe) = self.pipes.get_mut(&id) else { continue };
                    pipe.flying -= piece.len();
                    pipe.arrived.extend(piece);
                    let reader = pipe.reader;
                    self.tell(reader, Ready::READABLE);
                }
                Arrival::End(id) => {
                    let Some(pipe) = self.pipes.get_mut(&id).filter(|pipe| pipe.state == PipeState::Open)
                    else {
                        continue;
                    };
                    pipe.state = PipeState::Ended;
                    let reader = pipe.reader;
                    self.tell(reader, Ready::READABLE | Ready::CLOSED);
                }
            }
        }
    }

    pub fn listen(&mut self, port: u16) -> io::Result<()> {
        if self.listeners.contains_key(&port) {
            return Err(ErrorKind::AddrInUse.into());
        }
        self.listeners.insert(port, Backlog::default());
        Ok(())
    }

    pub fn stop_listening(&mut self, port: u16) {
        let backlog = self.listeners.remove(&port).unwrap_or_default();
        backlog.waiting.into_iter().for_each(|pipe| self.break_connection(pipe));
    }

    /// Makes a connection. The result is the direction to the listener; the next one leads back.
    pub fn connect(&mut self, port: u16) -> io::Result<PipeId> {
        if !self.listeners.contains_key(&port) {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let there = self.next_pipe;
        self.next_pipe += 2;
        let arrival = self.now + self.delay();
        for id in [there, there + 1] {
            self.pipes.insert(id, Pipe::new(arrival));
        }
        self.send(arrival, Arrival::Connection(port, there));
        Ok(there)
    }

    pub fn accept(&mut self, port: u16) -> io::Result<PipeId> {
        let backlog = self.listeners.get_mut(&port).ok_or(ErrorKind::NotConnected)?;
        backlog.waiting.pop_front().ok_or_else(|| ErrorKind::WouldBlock.into())
    }

    /// Reads what has arrived, up to the largest piece.
    pub fn read(&mut self, id: PipeId, buffer: &mut [u8]) -> io::Result<usize> {
        let most = 1 + self.random.below(self.faults.largest_piece);
        let pipe = self.pipes.get_mut(&id).ok_or(ErrorKind::NotConnected)?;
        if pipe.arrived.is_empty() {
            return match pipe.state {
                PipeState::Ended => Ok(0),
                PipeState::Broken => Err(ErrorKind::ConnectionReset.into()),
                PipeState::Open if buffer.is_empty() => Ok(0),
                PipeState::Open => Err(ErrorKind::WouldBlock.into()),
            };
        }
        let bytes = most.min(buffer.len()).min(pipe.arrived.len());
        for (to, from) in buffer.iter_mut().zip(pipe.arrived.drain(..bytes)) {
            *to = from;
        }
        // A short read says that there is no more.
        if !pipe.arrived.is_empty() && bytes < buffer.len() {
            let reader = pipe.reader;
            self.tell(reader, Ready::READABLE);
        }
        if let Some(pipe) = self.pipes.get_mut(&id)
            && core::mem::take(&mut pipe.is_writer_waiting)
        {
            let writer = pipe.writer;
            self.tell(writer, Ready::WRITABLE);
        }
        Ok(bytes)
    }

    /// Sends bytes, up to the largest piece and the room that there is.
    pub fn write(&mut self, id: PipeId, bytes: &[u8]) -> io::Result<usize> {
        let breaks = self.faults.breaks_one_in;
        if breaks > 0 && self.random.next().is_multiple_of(breaks.into()) {
            self.break_connection(id);
        }
        let (most, delay) = (1 + self.random.below(self.faults.largest_piece), self.delay());
        let (capacity, now) = (self.faults.capacity, self.now);
        let pipe = self.pipes.get_mut(&id).ok_or(ErrorKind::BrokenPipe)?;
        if pipe.state != PipeState::Open {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let room = capacity.saturating_sub(pipe.arrived.len() + pipe.flying);
        let count = most.min(room).min(bytes.len());
        if count == 0 && !bytes.is_empty() {
            pipe.is_writer_waiting = true;
            return Err(ErrorKind::WouldBlock.into());
        }
        pipe.flying += count;
        pipe.last_arrival = pipe.last_arrival.max(now + delay);
        let arrival = pipe.last_arrival;
        self.send(arrival, Arrival::Piece(id, bytes[..count].into()));
        Ok(count)
    }

    /// Ends a direction: the reader sees the end after all that was sent.
    pub fn end(&mut self, id: PipeId) {
        let delay = self.delay();
        let Some(pipe) = self.pipes.get(&id).filter(|pipe| pipe.state == PipeState::Open) else { return };
        let arrival = pipe.last_arrival.max(self.now + delay);
        self.send(arrival, Arrival::End(id));
    }

    /// Forgets the reader of a direction, whose stream is gone: the writer can send nothing more.
    pub fn forget(&mut self, id: PipeId) {
        if let Some(pipe) = self.pipes.remove(&id) {
            self.tell(pipe.writer, Ready::WRITABLE | Ready::CLOSED);
        }
    }

    /// Breaks both directions of a connection: what has not arrived is lost.
    fn break_connection(&mut self, id: PipeId) {
        for id in [id & !1, id | 1] {
            if let Some(pipe) = self.pipes.get_mut(&id) {
                pipe.state = PipeState::Broken;
                for watcher in [pipe.reader, pipe.writer] {
                    self.tell(watcher, Ready::READABLE | Ready::WRITABLE | Ready::CLOSED);
                }
            }
        }
    }

    /// Sets the source that gets the events of a stream, which reads one direction and writes
    /// another. What is possible already is reported at once.
    pub fn watch(&mut self, reads: PipeId, writes: PipeId, watcher: Option<Watcher>) {
        let mut ready = Ready::default();
        if let Some(pipe) = self.pipes.get_mut(&reads) {
            pipe.reader = watcher;
            if !pipe.arrived.is_empty() {
                ready = ready | Ready::READABLE;
            }
            if pipe.state != PipeState::Open {
                ready = ready | Ready::READABLE | Ready::CLOSED;
            }
        }
        if let Some(pipe) = self.pipes.get_mut(&writes) {
            pipe.writer = watcher;
            ready = ready | Ready::WRITABLE;
        }
        self.tell(watcher, ready);
    }

    pub fn watch_listener(&mut self, port: u16, watcher: Option<Watcher>) {
        let Some(backlog) = self.listeners.get_mut(&port) else { return };
        backlog.watcher = watcher;
        if !backlog.waiting.is_empty() {
            self.tell(watcher, Ready::READABLE);
        }
    }

    fn tell(&mut self, watcher: Option<Watcher>, ready: Ready) {
        let Some(Watcher { worker, token, interest }) = watcher else { return };
        let wanted = match interest {
            Interest::Readable => ready.is_readable(),
            Interest::Writable => ready.is_writable(),
            Interest::Both => !ready.is_empty(),
        };
        if wanted {
            self.events.entry(worker).or_default().push((token, ready));
        }
    }

    fn send(&mut self, at: u64, arrival: Arrival) {
        self.sent += 1;
        self.flying.insert((at, self.sent), arrival);
    }

    fn delay(&mut self) -> u64 {
        let longest = u64::try_from(self.faults.longest_delay.as_nanos()).unwrap_or(u64::MAX >> 1);
        1 + self.random.next() % (longest + 1)
    }
}

impl Pipe {
    fn new(last_arrival: u64) -> Self {
        Self {
            arrived: VecDeque::new(),
            flying: 0,
            last_arrival,
            state: PipeState::Open,
            is_writer_waiting: false,
            reader: None,
            writer: None,
        }
    }
}
