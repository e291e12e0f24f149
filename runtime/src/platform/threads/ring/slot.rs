//! A stream of a ring: its receive, its send, and what it has of both.

use crate::events::{Interest, Token};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::io;
use std::os::fd::RawFd;

/// What a ring does with a socket by system calls. None of them waits.
pub(crate) trait RawStream: Send + Sync {
    fn descriptor(&self) -> RawFd;

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize>;

    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Ends both directions: operations that the kernel has complete.
    fn shut_down(&self);
}

/// A socket, kept open while the kernel has something to do with it.
pub(super) type Socket = Arc<dyn RawStream>;

/// A stream, or what the kernel still has of it.
pub(super) struct Slot {
    pub token: Token,
    pub interest: Interest,
    pub fd: RawFd,
    /// `None` while the slot is free.
    pub socket: Option<Socket>,

    /// The stream exists.
    pub is_open: bool,
    pub is_staged: bool,
    pub receive: Receive,
    /// Full buffers by number and length, and how much of the first was read.
    pub received: VecDeque<(u16, usize)>,
    pub read: usize,
    /// The stream has ended: what a read returns once the buffers are read.
    pub end: Option<Result<(), i32>>,
    /// The kernel has `sending`, of which so much was sent before.
    pub is_sending: bool,
    pub sending: Vec<u8>,
    pub sent: usize,
    /// What goes next.
    pub pending: Vec<u8>,
    /// A write was refused.
    pub wants_room: bool,
    /// A send has failed.
    pub error: Option<i32>,
}

/// Where the receive of a stream is. It completes several times, until it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Receive {
    /// There is none: the stream is read by system calls.
    Idle,
    /// It is to be submitted.
    Staged,
    /// The kernel has it.
    InFlight,
    /// It is to be cancelled, as too much is not read.
    StagedCancel,
    /// It ends soon.
    Cancelled,
}

/// An operation of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Receive,
    Send,
}

/// Names an operation in its completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Name {
    pub slot: u32,
    pub operation: Operation,
}

impl Slot {
    pub fn new() -> Self {
        Self {
            token: Token(0),
            interest: Interest::Both,
            fd: -1,
            socket: None,
            is_open: false,
            is_staged: false,
            receive: Receive::Idle,
            received: VecDeque::new(),
            read: 0,
            end: None,
            is_sending: false,
            sending: Vec::new(),
            sent: 0,
            pending: Vec::new(),
            wants_room: false,
            error: None,
        }
    }

    /// Returns true if the kernel has an operation of this slot.
    pub fn is_busy(&self) -> bool {
        let receives = matches!(self.receive, Receive::InFlight | Receive::StagedCancel | Receive::Cancelled);
        self.is_sending || receives
    }
}

/// Returns true for errors after which an operation is begun again: a worker's thread has ended, a
/// signal came, or no buffer was left.
pub(super) fn is_transient(error: i32) -> bool {
    matches!(error, libc::ECANCELED | libc::EINTR | libc::EAGAIN | libc::ENOBUFS)
}
