//! The streams of a ring: what has come for each of them, and what is to go.
//!
//! A stream has at most one receive and one send in the kernel. A *slot* has them, and lives until
//! both have completed, whatever becomes of the stream: the kernel reads and writes its memory.

use super::buffers::Buffers;
use super::slot::{Name, Operation, Receive, Slot, Socket, is_transient};
use crate::events::{Interest, Ready, Token};
use alloc::vec::Vec;
use core::mem;
use std::os::fd::RawFd;

/// Bytes that a stream takes before what was written earlier is sent.
const MOST_UNSENT: usize = 64 << 10;
/// Buffers that have come for a stream and are not read, after which nothing more is received.
const MOST_UNREAD: usize = 4;
/// The largest buffer of a send that is kept for another one, in bytes.
const LARGEST_KEPT: usize = 16 << 10;
/// The buffers that are kept.
const MOST_KEPT: usize = 64;

/// All slots of a ring.
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots with something to submit.
    staged: Vec<u32>,
    /// Bytes of sends among it.
    pub staged_bytes: usize,
    pub buffers: Buffers,
    /// Empty buffers for sends.
    kept: Vec<Vec<u8>>,
    /// Streams that were closed with something under way.
    closing: Vec<u32>,
    /// What is to be reported with the next look.
    pub found: Vec<(Token, Ready)>,
    /// Operations that the kernel has.
    pub in_flight: usize,
}

/// What is to be submitted for a slot.
pub(super) enum Submission {
    Receive(Name, RawFd),
    /// The bytes stay where they are until the send completes.
    Send(Name, RawFd, *const u8, u32),
    /// Cancels the receive of this name.
    Cancel(Name),
}

/// What comes after the bytes that a read of a slot has found.
pub(super) enum Next {
    /// An event says when more has come.
    Event,
    /// The stream is to be read by a system call.
    SystemCall,
    End(Result<(), i32>),
}

/// What a completion has left to be dropped, without the lock.
pub(super) type Leftover = Option<Socket>;

impl Slots {
    pub fn new(buffers: Buffers) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            staged: Vec::new(),
            staged_bytes: 0,
            buffers,
            kept: Vec::new(),
            closing: Vec::new(),
            found: Vec::new(),
            in_flight: 0,
        }
    }

    /// Adds a stream, and stages its receive.
    pub fn open(&mut self, socket: Socket, token: Token, interest: Interest) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        let fd = socket.descriptor();
        *slot = Slot { token, interest, fd, socket: Some(socket), is_open: true, ..Slot::new() };
        if interest != Interest::Writable {
            slot.receive = Receive::Staged;
            self.stage(index);
        }
        // As a queue of the system reports it: there is room.
        self.report(index, Ready::WRITABLE);
        index
    }

    /// Copies what has come for a stream. Returns how much, and what comes next.
    pub fn read(&mut self, index: u32, buffer: &mut [u8]) -> (usize, Next) {
        let slot = &mut self.slots[index as usize];
        let mut filled = 0;
        while filled < buffer.len()
            && let Some(&(number, length)) = slot.received.front()
        {
            let bytes = &self.buffers.bytes(number, length)[slot.read..];
            let count = bytes.len().min(buffer.len() - filled);
            buffer[filled..filled + count].copy_from_slice(&bytes[..count]);
            filled += count;
            slot.read += count;
            if slot.read == length {
                slot.received.pop_front();
                slot.read = 0;
                self.buffers.give_back(number);
            }
        }
        let next = match (slot.end, slot.receive) {
            (Some(end), _) => Next::End(end),
            (None, Receive::Idle) => Next::SystemCall,
            _ => Next::Event,
        };
        (filled, next)
    }

    /// Stages a receive, after a system call has found nothing more.
    pub fn receive(&mut self, index: u32) {
        self.slots[index as usize].receive = Receive::Staged;
        self.stage(index);
    }

    /// Notes that a system call has found the end. Reports it if that read has returned bytes.
    pub fn end(&mut self, index: u32, end: Result<(), i32>, reports: bool) {
        self.slots[index as usize].end = Some(end);
        if reports {
            self.report(index, Ready::READABLE | Ready::CLOSED);
        }
    }

    /// Returns true if nothing that was written is still to go.
    pub fn is_sent(&self, index: u32) -> bool {
        let slot = &self.slots[index as usize];
        !slot.is_sending && slot.pending.is_empty() && slot.error.is_none()
    }

    /// Takes bytes to be sent. Returns how many; 0 if there is no room.
    pub fn write(&mut self, index: u32, bytes: &[u8]) -> Result<usize, i32> {
        let slot = &mut self.slots[index as usize];
        if let Some(error) = slot.error {
            return Err(error);
        }
        let count = bytes.len().min(MOST_UNSENT - slot.pending.len().min(MOST_UNSENT));
        if count < bytes.len() {
            slot.wants_room = true;
        }
        if slot.pending.capacity() == 0 {
            slot.pending = self.kept.pop().unwrap_or_default();
        }
        slot.pending.extend_from_slice(&bytes[..count]);
        if count > 0 && !slot.is_sending {
            self.staged_bytes += count;
            self.stage(index);
        }
        Ok(count)
    }

    /// Ends a stream: nothing is reported any more, and nothing submitted. The rest is done by
    /// [`take_closing`](Self::take_closing) with the next look, which knows what was sent.
    pub fn close(&mut self, index: u32) -> Leftover {
        let slot = &mut self.slots[index as usize];
        slot.is_open = false;
        if slot.receive == Receive::Staged {
            slot.receive = Receive::Idle;
        }
        for (number, _) in mem::take(&mut slot.received) {
            self.buffers.give_back(number);
        }
        let slot = &mut self.slots[index as usize];
        if slot.is_busy() || !slot.pending.is_empty() && slot.error.is_none() {
            self.closing.push(index);
            if planted!("slot-freed-early") {
                self.free.push(index);
            }
            return None;
        }
        self.free_if_done(index)
    }

    /// Returns a socket that is to be shut down, and what is to be sent before, as far as there is
    /// room. If a send is still under way, the socket is full, and the rest is lost.
    pub fn take_closing(&mut self) -> Option<(Socket, Vec<u8>)> {
        while let Some(index) = self.closing.pop() {
            let slot = &mut self.slots[index as usize];
            let pending = mem::take(&mut slot.pending);
            let unsent = if slot.is_sending || slot.error.is_some() { Vec::new() } else { pending };
            let socket = if slot.is_busy() { slot.socket.clone() } else { self.free_if_done(index) };
            if let Some(socket) = socket {
                return Some((socket, unsent));
            }
        }
        None
    }

    /// Returns the next thing to submit, if there is one. It is then in flight.
    pub fn next_submission(&mut self) -> Option<Submission> {
        loop {
            let &index = self.staged.last()?;
            let slot = &mut self.slots[index as usize];
            if slot.is_open {
                let name = |operation| Name { slot: index, operation };
                if !slot.is_sending && (slot.sent < slot.sending.len() || !slot.pending.is_empty()) {
                    if slot.sent == slot.sending.len() {
                        (slot.sending, slot.sent) = (mem::take(&mut slot.pending), 0);
                    }
                    slot.is_sending = true;
                    self.in_flight += 1;
                    let bytes = &slot.sending[slot.sent..];
                    let length = bytes.len() as u32;
                    return Some(Submission::Send(name(Operation::Send), slot.fd, bytes.as_ptr(), length));
                }
                match slot.receive {
                    Receive::Staged => {
                        slot.receive = Receive::InFlight;
                        self.in_flight += 1;
                        return Some(Submission::Receive(name(Operation::Receive), slot.fd));
                    }
                    Receive::StagedCancel => {
                        slot.receive = Receive::Cancelled;
                        return Some(Submission::Cancel(name(Operation::Receive)));
                    }
                    _ => {}
                }
            }
            slot.is_staged = false;
            self.staged.pop();
            if self.staged.is_empty() {
                self.staged_bytes = 0;
            }
        }
    }

    /// Returns true if there is something to submit.
    pub fn has_staged(&self) -> bool {
        !self.staged.is_empty()
    }

    /// Handles a completion: its result, the buffer that it has filled, and whether the operation
    /// goes on.
    pub fn complete(&mut self, name: Name, result: i32, buffer: Option<u16>, goes_on: bool) -> Leftover {
        if !goes_on {
            self.in_flight -= 1;
        }
        let index = name.slot;
        match name.operation {
            Operation::Receive => self.complete_receive(index, result, buffer, goes_on),
            Operation::Send => self.complete_send(index, result),
        }
        self.free_if_done(index)
    }

    fn complete_receive(&mut self, index: u32, result: i32, buffer: Option<u16>, goes_on: bool) {
        let slot = &mut self.slots[index as usize];
        if !goes_on {
            slot.receive = Receive::Idle;
        }
        if let Some(number) = buffer {
            if result > 0 && slot.is_open {
                slot.received.push_back((number, result as usize));
            } else {
                self.buffers.give_back(number);
            }
        }
        if !slot.is_open {
            return;
        }
        let mut ready = Ready::READABLE;
        if result == 0 {
            slot.end = Some(Ok(()));
            ready = ready | Ready::CLOSED;
        } else if result < 0 && !is_transient(-result) {
            slot.end = Some(Err(-result));
            ready = ready | Ready::CLOSED;
        } else if slot.received.len() >= MOST_UNREAD && slot.receive == Receive::InFlight {
            slot.receive = Receive::StagedCancel;
            self.stage(index);
        }
        self.report(index, ready);
    }

    fn complete_send(&mut self, index: u32, result: i32) {
        let slot = &mut self.slots[index as usize];
        slot.is_sending = false;
        if result >= 0 {
            slot.sent += (result as usize).min(slot.sending.len() - slot.sent);
        } else if !is_transient(-result) {
            slot.error = Some(-result);
            slot.pending = Vec::new();
            slot.sent = slot.sending.len();
            self.report(index, Ready::WRITABLE | Ready::CLOSED);
        }
        let slot = &mut self.slots[index as usize];
        let is_sent = slot.sent == slot.sending.len();
        if is_sent {
            let mut sending = mem::take(&mut slot.sending);
            slot.sent = 0;
            if sending.capacity() <= LARGEST_KEPT && self.kept.len() < MOST_KEPT {
                sending.clear();
                self.kept.push(sending);
            }
        }
        if !is_sent || !slot.pending.is_empty() {
            self.stage(index);
        }
        let slot = &mut self.slots[index as usize];
        if slot.wants_room && slot.pending.len() <= MOST_UNSENT / 2 {
            slot.wants_room = false;
            self.report(index, Ready::WRITABLE);
        }
    }

    fn stage(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if !mem::replace(&mut slot.is_staged, true) {
            self.staged.push(index);
        }
    }

    /// Reports what a stream is ready for, as far as its program wants to know.
    fn report(&mut self, index: u32, ready: Ready) {
        let slot = &self.slots[index as usize];
        let is_wanted = match slot.interest {
            Interest::Readable => ready.is_readable(),
            Interest::Writable => ready.is_writable(),
            Interest::Both => true,
        };
        if slot.is_open && is_wanted {
            self.found.push((slot.token, ready));
        }
    }

    fn free_if_done(&mut self, index: u32) -> Leftover {
        let slot = &mut self.slots[index as usize];
        if slot.is_open || slot.is_busy() || !slot.pending.is_empty() {
            return None;
        }
        slot.sending = Vec::new();
        slot.error = None;
        let socket = slot.socket.take();
        if socket.is_some() {
            self.free.push(index);
        }
        socket
    }
}
