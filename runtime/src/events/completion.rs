//! Streams that receive and send by completions, where the system has them.

use super::net::TcpStream;
#[cfg(unix)]
use super::net::UnixStream;
use super::{Registration, Source};
use crate::platform::PlatformError;
#[cfg(all(feature = "io-uring", target_os = "linux"))]
use crate::platform::{
    EventPolls,
    ring::{RawStream, Ring},
};
use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use std::io::{self, Read, Write};

/// A connected stream that receives and sends by `io_uring`, where there is one and the program
/// [asks for it](crate::platform::Threads::io_uring): many receives and sends take one system call.
/// Otherwise it is as the stream inside.
///
/// It is used as any other stream is: an event says that it is readable or writable, and reads and
/// writes never wait. What differs with `io_uring`:
///
/// - Bytes are received before they are read: as a rule up to some 40 KiB.
/// - What is written is sent when the [worker](super::Registered::worker) looks for events next,
///   as a rule at once after the tasks that it has. Up to 64 KiB wait in memory if the other side
///   does not read.
/// - Dropping it sends what the system has room for, and ends both directions, whatever other
///   descriptors the socket has. The rest of up to 128 KiB that were written is lost.
///
/// It is not yet fit for streams that matter, or peers that are not trusted:
/// [`Threads::io_uring`](crate::platform::Threads::io_uring) has the known faults.
///
/// `io_uring` needs the feature `io-uring`, and Linux 6.0 or newer; many containers forbid it. See
/// [`Threads::probe_io_uring`](crate::platform::Threads::probe_io_uring).
///
/// ```
/// use std::io::{Read, Write};
/// use xtasking::Runtime;
/// use xtasking::events::net::{CompletionStream, TcpStream};
/// use xtasking::events::{Buffered, Event, Handled, Interest};
///
/// let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let mut client = std::net::TcpStream::connect(listener.local_addr()?)?;
/// let (server, _) = listener.accept()?;
/// server.set_nonblocking(true)?;
///
/// let rt = Runtime::builder().workers(1).build()?;
/// let stream = CompletionStream::new(TcpStream::from_std(server));
/// let (stream, events) = rt.register(stream, Interest::Both)?;
/// type Echo = Buffered<CompletionStream<TcpStream>>;
/// events.deliver(Buffered::new(stream), |io: &mut Echo, event: Event<'_, _>, _cx| {
///     _ = io.fill(event.ready());
///     let input = io.input().to_vec();
///     io.consume(input.len());
///     io.output().extend(input);
///     _ = io.flush();
///     Handled::Fully
/// });
/// client.write_all(b"hello")?;
/// let mut echo = [0; 5];
/// client.read_exact(&mut echo)?;
/// assert_eq!(&echo, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CompletionStream<S: Completable> {
    stream: Arc<S>,
    /// The ring that the stream is in, and its slot there.
    #[cfg(all(feature = "io-uring", target_os = "linux"))]
    ring: Option<(Arc<Ring>, u32)>,
}

/// A stream of which [`CompletionStream`] is made. It cannot be implemented elsewhere.
pub trait Completable: sealed::Stream {}

impl Completable for TcpStream {}
#[cfg(unix)]
impl Completable for UnixStream {}

mod sealed {
    use std::io;

    pub trait Stream: mio::event::Source + Send + Sync + core::fmt::Debug + 'static {
        fn receive(&self, buffer: &mut [u8]) -> io::Result<usize>;
        fn send(&self, bytes: &[u8]) -> io::Result<usize>;
        #[cfg(all(feature = "io-uring", target_os = "linux"))]
        fn descriptor(&self) -> std::os::fd::RawFd;
        #[cfg(all(feature = "io-uring", target_os = "linux"))]
        fn shut_down(&self);
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

            #[cfg(all(feature = "io-uring", target_os = "linux"))]
            fn descriptor(&self) -> std::os::fd::RawFd {
                std::os::fd::AsRawFd::as_raw_fd(self)
            }

            #[cfg(all(feature = "io-uring", target_os = "linux"))]
            fn shut_down(&self) {
                // It fails if the other side has ended the connection.
                _ = self.shutdown(std::net::Shutdown::Both);
            }
        }
    };
}

stream!(TcpStream);
#[cfg(unix)]
stream!(UnixStream);

#[cfg(all(feature = "io-uring", target_os = "linux"))]
impl<S: sealed::Stream> RawStream for S {
    fn descriptor(&self) -> std::os::fd::RawFd {
        sealed::Stream::descriptor(self)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        sealed::Stream::receive(self, buffer)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        sealed::Stream::send(self, bytes)
    }

    fn shut_down(&self) {
        sealed::Stream::shut_down(self);
    }
}

impl<S: Completable> CompletionStream<S> {
    /// Wraps a connected stream, which does not block.
    pub fn new(stream: S) -> Self {
        Self {
            stream: Arc::new(stream),
            #[cfg(all(feature = "io-uring", target_os = "linux"))]
            ring: None,
        }
    }

    /// Returns true if it receives and sends by `io_uring`. It does once it is registered.
    pub fn is_completing(&self) -> bool {
        #[cfg(all(feature = "io-uring", target_os = "linux"))]
        return self.ring.is_some();
        #[cfg(not(all(feature = "io-uring", target_os = "linux")))]
        false
    }

    /// Returns the ring and the slot, unless there is none.
    ///
    /// # Errors
    ///
    /// In a forked process: its parent has the ring.
    #[cfg(all(feature = "io-uring", target_os = "linux"))]
    fn ring(&self) -> io::Result<Option<(&Ring, u32)>> {
        match &self.ring {
            None => Ok(None),
            Some((ring, slot)) if ring.is_own() => Ok(Some((ring, *slot))),
            Some(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn leave_ring(&mut self) {
        #[cfg(all(feature = "io-uring", target_os = "linux"))]
        if let Some((ring, slot)) = self.ring.take().filter(|(ring, _)| ring.is_own()) {
            ring.close(slot);
        }
    }
}

/// The stream inside, for its addresses and options. What is read and written there is not in order
/// with the reads and writes of this one.
impl<S: Completable> Deref for CompletionStream<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.stream
    }
}

impl<S: Completable> Read for CompletionStream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(all(feature = "io-uring", target_os = "linux"))]
        if let Some((ring, slot)) = self.ring()? {
            return ring.read(slot, &*self.stream, buffer);
        }
        self.stream.receive(buffer)
    }
}

impl<S: Completable> Write for CompletionStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(all(feature = "io-uring", target_os = "linux"))]
        if let Some((ring, slot)) = self.ring()? {
            return ring.write(slot, &*self.stream, bytes);
        }
        self.stream.send(bytes)
    }

    /// Does nothing: what was written is sent in any case.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Completable> Source for CompletionStream<S> {
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        #[cfg(all(feature = "io-uring", target_os = "linux"))]
        if let Some(polls) = registration.queues::<EventPolls>()
            && let Some(ring) = polls.ring(registration.worker())?
        {
            let slot = ring.open(self.stream.clone(), registration.token(), registration.interest());
            self.ring = Some((ring.clone(), slot));
            return Ok(());
        }
        let stream = Arc::get_mut(&mut self.stream).ok_or("the stream was registered before")?;
        Source::register(stream, registration)
    }

    fn deregister(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        // A ring goes on until the stream is dropped: what is written until then is sent.
        if self.is_completing() {
            return Ok(());
        }
        let stream = Arc::get_mut(&mut self.stream).ok_or("the stream was registered before")?;
        Source::deregister(stream, registration)
    }
}

impl<S: Completable> Drop for CompletionStream<S> {
    fn drop(&mut self) {
        self.leave_ring();
    }
}

impl<S: Completable> fmt::Debug for CompletionStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_completing = self.is_completing();
        f.debug_struct("CompletionStream")
            .field("stream", &self.stream)
            .field("is_completing", &is_completing)
            .finish()
    }
}
