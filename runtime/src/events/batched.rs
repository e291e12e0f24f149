//! Streams whose output is sent together with that of others.

use super::net::TcpStream;
#[cfg(unix)]
use super::net::UnixStream;
use super::outgoing::Sender;
use super::{Buffered, Interest, Registration, Source};
use crate::platform::PlatformError;
use crate::scheduler::Context;
use crate::sync::{SpinMutex, forks};
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::ops::Deref;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

/// Output of a stream that waits for a task, at most, in bytes. What is more is sent at once.
const MOST_WAITING: usize = 4 << 10;

/// A connected stream whose [buffered](Buffered) output may wait for other tasks of a worker, to be
/// sent together with that of other streams; see [`Buffered::flush_soon`].
///
/// It is used as the stream inside. What is written by [`Write::write`] is sent at once, after what
/// waits. [`Write::flush`] sends what waits: the error `WouldBlock` means that there is no room for
/// it. Dropping the stream sends what the system has room for; the rest is lost.
///
/// ```
/// use std::io::{Read, Write};
/// use xtasking::Runtime;
/// use xtasking::events::net::{BatchedStream, TcpStream};
/// use xtasking::events::{Buffered, Event, Handled, Interest};
///
/// let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let mut client = std::net::TcpStream::connect(listener.local_addr()?)?;
/// let (server, _) = listener.accept()?;
/// server.set_nonblocking(true)?;
///
/// let rt = Runtime::builder().workers(1).build()?;
/// let stream = BatchedStream::new(TcpStream::from_std(server));
/// let (stream, events) = rt.register(stream, Interest::Both)?;
/// type Echo = Buffered<BatchedStream<TcpStream>>;
/// events.deliver(Buffered::new(stream), |io: &mut Echo, event: Event<'_, _>, cx| {
///     _ = io.fill(event.ready());
///     let input = io.input().to_vec();
///     io.consume(input.len());
///     io.output().extend(input);
///     _ = io.flush_soon(cx);
///     Handled::Fully
/// });
/// client.write_all(b"hello")?;
/// let mut echo = [0; 5];
/// client.read_exact(&mut echo)?;
/// assert_eq!(&echo, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BatchedStream<S: Batchable> {
    shared: Arc<Shared<S>>,
    /// It is registered, and an event says when there is room.
    reports_room: bool,
}

/// What the task that sends has of a stream.
struct Shared<S> {
    stream: S,
    /// Held while it is sent, which takes as long as a system call that does not wait.
    output: SpinMutex<Output>,
    /// The number of [`forks`] when it was made: what waits is sent by the process of that time.
    made_after: u64,
}

/// Output that waits for a task, or for room.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    /// A task is going to send it, if this is still true then. Otherwise it waits for room, or a
    /// caller has the error.
    has_task: bool,
    /// A task could not send it: the next call for this stream gets the error.
    error: Option<io::Error>,
}

/// A stream of which [`BatchedStream`] is made. It cannot be implemented elsewhere.
pub trait Batchable: sealed::Stream {}

impl Batchable for TcpStream {}
#[cfg(unix)]
impl Batchable for UnixStream {}

mod sealed {
    use std::io;

    pub trait Stream: mio::event::Source + Send + Sync + core::fmt::Debug + 'static {
        fn receive(&self, buffer: &mut [u8]) -> io::Result<usize>;
        fn send(&self, bytes: &[u8]) -> io::Result<usize>;
        /// Ends both directions, which is an event.
        fn end(&self);
        #[cfg(unix)]
        fn descriptor(&self) -> std::os::fd::RawFd;
    }
}

macro_rules! stream {
    ($stream:ty) => {
        impl sealed::Stream for $stream {
            fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
                (&mut &*self).read(buffer)
            }

            fn send(&self, bytes: &[u8]) -> io::Result<usize> {
                (&mut &*self).write(bytes)
            }

            fn end(&self) {
                // An error means that it has ended by itself.
                _ = self.shutdown(Shutdown::Both);
            }

            #[cfg(unix)]
            fn descriptor(&self) -> std::os::fd::RawFd {
                std::os::fd::AsRawFd::as_raw_fd(self)
            }
        }
    };
}

stream!(TcpStream);
#[cfg(unix)]
stream!(UnixStream);

impl Output {
    /// Sends what waits. Returns true if nothing is left, false if there is no room for the rest.
    fn send(&mut self, stream: &impl sealed::Stream) -> io::Result<bool> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut sent = 0;
        let result = loop {
            if sent == self.bytes.len() {
                break Ok(true);
            }
            match stream.send(&self.bytes[sent..]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.bytes.drain(..sent);
        if self.bytes.is_empty() && self.bytes.capacity() > MOST_WAITING {
            self.bytes = Vec::new();
        }
        result
    }
}

impl<S> Shared<S> {
    /// Returns false in a forked process: what waits is its parent's to send.
    fn is_own(&self) -> bool {
        self.made_after == forks() || planted!("child-sends")
    }
}

impl<S: Batchable> Sender for Shared<S> {
    fn send(&self) {
        let mut output = self.output.lock();
        // What found no room since then is left to the event that says when there is some: its
        // handler has to find it, as it may be going to close the stream after it.
        if !mem::take(&mut output.has_task) && !planted!("task-sends-anyway") {
            return;
        }
        // If something is left, an event says when there is room, and its handler flushes.
        if let Err(error) = output.send(&self.stream) {
            output.error = Some(error);
            // The program may have nothing more to send: an event leads it to the error.
            if !planted!("error-without-event") {
                self.stream.end();
            }
        }
    }
}

impl<S: Batchable> BatchedStream<S> {
    /// Wraps a connected stream, which does not block.
    pub fn new(stream: S) -> Self {
        let shared = Shared { stream, output: SpinMutex::default(), made_after: forks() };
        Self { shared: Arc::new(shared), reports_room: false }
    }

    /// Sends what waits. Returns true if nothing is left, false if there is no room for the rest.
    fn send_waiting(&self) -> io::Result<bool> {
        if !self.shared.is_own() {
            return Ok(true);
        }
        let mut output = self.shared.output.lock();
        let result = output.send(&self.shared.stream);
        output.has_task &= matches!(result, Ok(true));
        result
    }

    /// Moves short output to what waits for a task. Returns false if it has to be sent at once.
    fn send_soon(&self, bytes: &mut Vec<u8>, cx: &mut Context) -> bool {
        // Other systems deregister by the stream itself, which a list of them would share.
        if !cfg!(unix) || !self.reports_room || !self.shared.is_own() {
            return false;
        }
        let mut output = self.shared.output.lock();
        // What waits without a task waits for room, and an event may have said that there is some.
        let waits_for_room = !output.has_task && !output.bytes.is_empty() && !planted!("room-unnoticed");
        if waits_for_room || output.error.is_some() || output.bytes.len() + bytes.len() > MOST_WAITING {
            return false;
        }
        if output.bytes.is_empty() && bytes.is_empty() {
            return true;
        }
        if output.bytes.is_empty() && bytes.capacity() <= MOST_WAITING {
            mem::swap(&mut output.bytes, bytes);
        } else {
            output.bytes.append(bytes);
        }
        if !mem::replace(&mut output.has_task, true) {
            // The task may run at once, in this one.
            drop(output);
            let stream: Weak<Shared<S>> = Arc::downgrade(&self.shared);
            cx.send_soon(stream);
        }
        true
    }
}

impl<S: Batchable> Buffered<BatchedStream<S>> {
    /// Sends the output, as [`flush`](Self::flush) does, but lets up to 4 KiB of it wait. A task of
    /// this worker sends it after the tasks that the worker has now, together with the output of
    /// other streams. So the replies to many clients leave together, which costs less for each.
    ///
    /// Only more urgent tasks that come later come before it; if this task has a
    /// [high priority](crate::Priority::High), the one that sends has that, too. But it comes after
    /// this task: a handler that goes on for long calls [`flush`](Self::flush) instead.
    ///
    /// Returns false if there is no room: then the stream reports when it is writable, and the
    /// handler flushes again. True does not mean that the system has the output. A program that is
    /// going to close the stream calls `flush`, and closes it once that returns true.
    ///
    /// What waits counts as [unsent](Self::unsent). Nothing waits if the stream is not registered
    /// for room to write, and on systems other than Unix.
    ///
    /// # Errors
    ///
    /// As for [`flush`](Self::flush), also of what waited. The task that sends leaves an error to
    /// the next call. It shuts the stream down in both directions, so that an event says that the
    /// stream is [closed](super::Ready::is_closed).
    pub fn flush_soon(&mut self, cx: &mut Context) -> io::Result<bool> {
        if let Some((stream, output)) = self.stream_and_output()
            && stream.send_soon(output, cx)
        {
            return Ok(true);
        }
        self.flush()
    }
}

/// The stream inside, for its addresses and options. What is written there is not in order with
/// what waits.
impl<S: Batchable> Deref for BatchedStream<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.shared.stream
    }
}

impl<S: Batchable> Read for BatchedStream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.shared.stream.receive(buffer)
    }
}

impl<S: Batchable> Write for BatchedStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !planted!("write-overtakes") {
            self.flush()?;
        }
        self.shared.stream.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        if planted!("flush-leaves-waiting") || self.send_waiting()? {
            return Ok(());
        }
        Err(ErrorKind::WouldBlock.into())
    }
}

impl<S: Batchable> Source for BatchedStream<S> {
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        self.with_source(|source| source.register(registration))?;
        self.reports_room = registration.interest() != Interest::Readable;
        Ok(())
    }

    fn deregister(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        self.with_source(|source| source.deregister(registration))
    }

    fn unsent(&self) -> usize {
        if self.shared.is_own() { self.shared.output.lock().bytes.len() } else { 0 }
    }
}

impl<S: Batchable> BatchedStream<S> {
    /// Calls a function with what is registered.
    #[cfg(unix)]
    fn with_source<R>(&mut self, function: impl FnOnce(&mut mio::unix::SourceFd<'_>) -> R) -> R {
        function(&mut mio::unix::SourceFd(&self.shared.stream.descriptor()))
    }

    /// Calls a function with what is registered.
    #[cfg(not(unix))]
    fn with_source(
        &mut self,
        function: impl FnOnce(&mut S) -> Result<(), PlatformError>,
    ) -> Result<(), PlatformError> {
        let shared = Arc::get_mut(&mut self.shared).ok_or("a task has the stream")?;
        function(&mut shared.stream)
    }
}

impl<S: Batchable> Drop for BatchedStream<S> {
    fn drop(&mut self) {
        // What the system does not take is lost, as of other streams.
        if !planted!("waiting-lost") {
            _ = self.send_waiting();
        }
    }
}

impl<S: Batchable> fmt::Debug for BatchedStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchedStream").field("stream", &self.shared.stream).finish_non_exhaustive()
    }
}
