//! What the TCP stack and the task of a connection pass to each other: bytes, both ways, bounded.
//!
//! Each side calls the other by a task. While such a task has not begun, what comes joins it: the
//! flags `calls_program` and `calls_stack` say that there is one.

use crate::lock::SpinLock;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use smoltcp::socket::tcp;

/// Bytes of input that a connection holds, arrived and not consumed. More stays with the stack, and
/// then with the peer.
pub const INPUT_LIMIT: usize = 32 << 10;
/// Bytes of output that a connection holds until the stack takes them.
pub const OUTPUT_LIMIT: usize = 32 << 10;

/// Bytes of memory that an empty buffer keeps.
const KEPT: usize = 4 << 10;

/// Frees the memory of an empty buffer, if that is much: most connections are quiet.
pub(super) fn give_back(buffer: &mut Vec<u8>) {
    if buffer.is_empty() && buffer.capacity() > KEPT {
        *buffer = Vec::new();
    }
}

/// Returns how many bytes a buffer is to reserve for some more: twice what it had, so that this is
/// rare, but not beyond the limit.
fn growth(length: usize, capacity: usize, more: usize, limit: usize) -> usize {
    let needed = length + more;
    if needed <= capacity { 0 } else { needed.max((2 * capacity).min(limit)) - length }
}

/// How a connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// The peer sends nothing more.
    pub has_ended: bool,
    /// Nothing can be sent any more, and nothing comes.
    pub is_closed: bool,
}

/// The state that both sides share.
pub(super) struct Pipe(SpinLock<State>);

#[derive(Default)]
struct State {
    /// Arrived, and not taken by the program.
    arrived: Vec<u8>,
    /// Bytes that the program has taken and not consumed.
    held: usize,
    output: VecDeque<u8>,
    status: Status,
    /// The program writes nothing more.
    is_closing: bool,
    /// A write was cut short: the program is called when there is room.
    wants_room: bool,
    calls_program: bool,
    calls_stack: bool,
    /// The program has been called once, as the connection is there.
    is_known: bool,
}

impl State {
    fn room(&self) -> usize {
        if self.is_closing || self.status.is_closed {
            return 0;
        }
        OUTPUT_LIMIT - self.output.len()
    }

    fn input_room(&self) -> usize {
        INPUT_LIMIT - self.arrived.len() - self.held
    }
}

/// Sets a flag. Returns true if it was not set: the caller spawns the task that it stands for.
fn call(flag: &mut bool) -> bool {
    !core::mem::replace(flag, true)
}

/// The side of the program.
impl Pipe {
    pub fn new() -> Self {
        Self(SpinLock::new(State::default()))
    }

    /// Begins the task that the stack has called for: appends to `input` what has arrived.
    pub fn take_arrived(&self, input: &mut Vec<u8>) -> Status {
        self.0.with(|state| {
            state.calls_program = false;
            state.held += state.arrived.len();
            if input.is_empty() {
                core::mem::swap(input, &mut state.arrived);
            } else {
                input.reserve_exact(state.arrived.len());
                input.append(&mut state.arrived);
            }
            give_back(&mut state.arrived);
            state.status
        })
    }

    /// Says that the program has consumed some bytes. Returns true if the stack is to be called, as
    /// it may have had no room for more.
    pub fn consumed(&self, bytes: usize) -> bool {
        self.0.with(|state| {
            let was_full = state.input_room() == 0;
            state.held -= bytes;
            was_full && bytes > 0 && !state.status.is_closed && call(&mut state.calls_stack)
        })
    }

    /// Returns how many bytes may be written now.
    pub fn room(&self) -> usize {
        self.0.with(|state| state.room())
    }

    /// Takes as many bytes as there is room for. Returns how many, and whether the stack is to be
    /// called.
    pub fn write(&self, bytes: &[u8]) -> (usize, bool) {
        self.0.with(|state| {
            let taken = bytes.len().min(state.room());
            let (length, capacity) = (state.output.len(), state.output.capacity());
            state.output.reserve_exact(growth(length, capacity, taken, OUTPUT_LIMIT));
            state.output.extend(&bytes[..taken]);
            state.wants_room |= taken < bytes.len();
            (taken, taken > 0 && call(&mut state.calls_stack))
        })
    }

    /// Ends the output behind what was written. Returns true if the stack is to be called.
    pub fn close(&self) -> bool {
        self.0.with(|state| {
            let is_new = !state.is_closing && !state.status.is_closed;
            state.is_closing = true;
            is_new && call(&mut state.calls_stack)
        })
    }
}

/// The side of the stack.
impl Pipe {
    /// Begins the task that the program has called for.
    pub fn begin_stack_task(&self) {
        self.0.with(|state| state.calls_stack = false);
    }

    /// Moves what it can between the pipe and a socket. Returns true if the program is to be
    /// called.
    pub fn exchange(&self, socket: &mut tcp::Socket<'_>) -> bool {
        self.0.with(|state| {
            let is_new = !core::mem::replace(&mut state.is_known, true);
            let is_news = is_new | state.receive(socket) | state.send(socket) | state.update(socket);
            is_news && call(&mut state.calls_program)
        })
    }

    /// Returns true if the program has closed.
    pub fn is_closing(&self) -> bool {
        self.0.with(|state| state.is_closing)
    }

    /// Returns how many bytes of output the socket has not taken.
    pub fn unsent(&self) -> usize {
        self.0.with(|state| state.output.len())
    }

    /// Says that the connection is gone. Returns true if the program is to be called.
    pub fn end(&self) -> bool {
        self.0.with(|state| {
            let was_closed = core::mem::replace(&mut state.status.is_closed, true);
            state.status.has_ended = true;
            state.output = VecDeque::new();
            !was_closed && call(&mut state.calls_program)
        })
    }
}

impl State {
    fn receive(&mut self, socket: &mut tcp::Socket<'_>) -> bool {
        let before = self.arrived.len();
        // The ring of a socket is in two pieces.
        while socket.can_recv() {
            let room = if self.is_closing { usize::MAX } else { self.input_room() };
            if room == 0 {
                break;
            }
            let take = |bytes: &mut [u8]| {
                let taken = bytes.len().min(room);
                // A connection that the program has closed reads to the peer's end.
                if !self.is_closing {
                    let (length, capacity) = (self.arrived.len(), self.arrived.capacity());
                    self.arrived.reserve_exact(growth(length, capacity, taken, INPUT_LIMIT));
                    self.arrived.extend_from_slice(&bytes[..taken]);
                }
                (taken, ())
            };
            if socket.recv(take).is_err() {
                break;
            }
        }
        self.arrived.len() > before
    }

    fn send(&mut self, socket: &mut tcp::Socket<'_>) -> bool {
        while !self.output.is_empty() && socket.can_send() {
            let fill = |bytes: &mut [u8]| {
                let (front, _) = self.output.as_slices();
                let sent = front.len().min(bytes.len());
                bytes[..sent].copy_from_slice(&front[..sent]);
                (sent, sent)
            };
            let Ok(sent) = socket.send(fill) else { break };
            self.output.drain(..sent);
        }
        if self.output.is_empty() && self.output.capacity() > KEPT {
            self.output = VecDeque::new();
        }
        let has_room = self.wants_room && self.room() > 0;
        self.wants_room &= !has_room;
        has_room
    }

    fn update(&mut self, socket: &tcp::Socket<'_>) -> bool {
        let has_ended = !socket.may_recv();
        let is_news = has_ended && !self.status.has_ended && !self.is_closing;
        self.status.has_ended |= has_ended;
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_beyond_the_room_is_cut_short() {
        let pipe = Pipe::new();
        assert_eq!(pipe.write(&[1; OUTPUT_LIMIT - 1]), (OUTPUT_LIMIT - 1, true));
        // The task that was called has not begun.
        assert_eq!(pipe.write(&[2; 5]), (1, false));
        assert_eq!(pipe.room(), 0);
        pipe.begin_stack_task();
        assert_eq!(pipe.write(&[3]), (0, false));
    }

    #[test]
    fn a_closed_pipe_takes_nothing_and_calls_once() {
        let pipe = Pipe::new();
        assert_eq!(pipe.write(b"last"), (4, true));
        pipe.begin_stack_task();
        assert!(pipe.close() && !pipe.close());
        assert_eq!(pipe.write(b"more"), (0, false));
        assert!(pipe.is_closing() && pipe.unsent() == 4);
        assert!(pipe.end() && !pipe.end());
        let mut input = Vec::new();
        assert_eq!(pipe.take_arrived(&mut input), Status { has_ended: true, is_closed: true });
    }

    #[test]
    fn buffers_hold_no_more_memory_than_their_limit_and_little_once_they_are_empty() {
        let pipe = Pipe::new();
        let mut input = Vec::new();
        for _ in 0..INPUT_LIMIT / 1000 {
            assert_eq!(pipe.write(&[1; 1000]).0, 1000);
            pipe.0.with(|state| state.arrived.extend_from_slice(&[2; 1000]));
            pipe.take_arrived(&mut input);
        }
        let capacities = pipe.0.with(|state| (state.output.capacity(), state.arrived.capacity()));
        assert!(capacities.0 <= OUTPUT_LIMIT && capacities.1 <= KEPT && input.capacity() <= INPUT_LIMIT);
        input.clear();
        give_back(&mut input);
        assert_eq!(input.capacity(), 0);
    }

    #[test]
    fn the_stack_is_called_when_a_full_input_has_room_again() {
        let pipe = Pipe::new();
        pipe.0.with(|state| state.arrived.resize(INPUT_LIMIT, 7));
        let mut input = Vec::new();
        assert_eq!(pipe.take_arrived(&mut input), Status::default());
        assert_eq!(input.len(), INPUT_LIMIT);
        assert!(pipe.consumed(1));
        pipe.begin_stack_task();
        assert!(!pipe.consumed(1));
    }
}
