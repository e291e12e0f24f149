//! Reading and writing a stream through buffers: as few system calls as possible, and bounded
//! memory.

use super::{Ready, Registered, Source};
use core::mem;
use std::io::{self, ErrorKind, Read, Write};
use std::vec::Vec;

/// A registered stream with a buffer for what has come, and one for what is to go.
///
/// A handler of its events [fills](Self::fill) the input, handles and [consumes](Self::consume)
/// what is complete there, appends to the [output](Self::output), and [flushes](Self::flush) once.
/// So a wake-up takes one receive and one send, however many requests it brings.
#[derive(Debug)]
pub struct Buffered<S: Source> {
    stream: Registered<S>,
    /// What has come and is not consumed is between `start` and `end`.
    input: Vec<u8>,
    start: usize,
    end: usize,
    output: Vec<u8>,
    /// What of the output was sent.
    sent: usize,
}

/// What [`Buffered::fill`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// All that had come was read.
    Open,
    /// There is more: the handler returns [`Handled::Partly`](super::Handled::Partly).
    More,
    /// The other side sends nothing more.
    Ended,
}

/// The size of a new input buffer in bytes.
const FIRST_SIZE: usize = 4 << 10;
/// The largest read, and the largest buffer that is kept while it is empty, in bytes.
const LARGEST_READ: usize = 64 << 10;

impl<S: Source> Buffered<S> {
    /// Creates empty buffers for a stream.
    pub fn new(stream: Registered<S>) -> Self {
        Self { stream, input: Vec::new(), start: 0, end: 0, output: Vec::new(), sent: 0 }
    }

    /// Returns the stream.
    pub fn stream(&self) -> &Registered<S> {
        &self.stream
    }

    /// Returns what has come and is not consumed.
    pub fn input(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    /// Removes bytes from the beginning of the input.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer.
    pub fn consume(&mut self, bytes: usize) {
        assert!(bytes <= self.end - self.start, "{bytes} bytes are more than the input has");
        self.start += bytes;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.len() > LARGEST_READ {
                self.input = Vec::new();
            }
        }
    }

    /// Returns the output, to be appended to.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Returns how many bytes of the output were not sent, [also by the stream](Source::unsent). A
    /// program bounds this, as the other side may read slowly or not at all.
    pub fn unsent(&self) -> usize {
        // A program may have shortened the output.
        self.output.len().saturating_sub(self.sent) + self.stream.get().map_or(0, S::unsent)
    }

    /// Returns the stream and the output, unless it is closed, or a part of the output was sent.
    #[cfg(feature = "io")]
    pub(super) fn stream_and_output(&mut self) -> Option<(&mut S, &mut Vec<u8>)> {
        let stream = self.stream.get_mut().filter(|_| self.sent == 0)?;
        Some((stream, &mut self.output))
    }

    /// Ends the events, and closes the stream. What was not sent is lost.
    pub fn close(&mut self) {
        self.stream.close();
    }

    /// Returns true if the stream was closed.
    pub fn is_closed(&self) -> bool {
        self.stream.is_closed()
    }

    /// Makes room behind the input for a read.
    fn make_room(&mut self) {
        if self.start > 0 && self.end == self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.input.len() {
            let size = (2 * self.input.len()).clamp(FIRST_SIZE, self.input.len() + LARGEST_READ);
            self.input.resize(size, 0);
        }
    }
}

impl<S: Source + Read> Buffered<S> {
    /// Reads what has come, up to some 64 KiB, and appends it to the input. `ready` is what the
    /// handler got. Of a closed stream it reads nothing.
    ///
    /// # Errors
    ///
    /// As for reading the stream.
    pub fn fill(&mut self, ready: Ready) -> io::Result<Filled> {
        let mut left = LARGEST_READ;
        while left > 0 {
            self.make_room();
            let Some(stream) = self.stream.get_mut() else { return Ok(Filled::Ended) };
            let room = &mut self.input[self.end..];
            let asked = room.len().min(left);
            match stream.read(&mut room[..asked]) {
                Ok(0) => return Ok(Filled::Ended),
                Ok(bytes) => {
                    self.end += bytes;
                    left -= bytes;
                    // A short read has emptied the stream; but its end comes with no further event
                    // if this one says that it is closed. Windows reports nothing more before a
                    // read would block.
                    if bytes < asked && !ready.is_closed() && !cfg!(windows) {
                        return Ok(Filled::Open);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Filled::Open),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Filled::More)
    }
}

impl<S: Source + Write> Buffered<S> {
    /// Sends the output, as far as there is room, and [flushes](Write::flush) the stream. Returns
    /// true if all was sent. Otherwise the stream reports when it is writable, if it was registered
    /// for that, and the handler flushes again.
    ///
    /// # Errors
    ///
    /// As for writing the stream.
    pub fn flush(&mut self) -> io::Result<bool> {
        while self.sent < self.output.len() {
            let Some(stream) = self.stream.get_mut() else { return Err(ErrorKind::NotConnected.into()) };
            match stream.write(&self.output[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.sent > LARGEST_READ {
                        self.output.drain(..mem::take(&mut self.sent));
                    }
                    return Ok(false);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.sent = 0;
        self.output.clear();
        self.output.shrink_to(LARGEST_READ);
        // A stream may have kept some of it, now or before.
        match self.stream.get_mut().map_or(Ok(()), S::flush) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            result => result.map(|()| true),
        }
    }
}
