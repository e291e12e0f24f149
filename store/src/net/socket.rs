//! Streams by which clients are served.

use std::io::{self, Read, Write};
use xtasking::Context;
use xtasking::events::net::{Batchable, BatchedStream};
use xtasking::events::{Buffered, Source};
use xtasking::platform::SimulatedStream;

/// A stream of bytes to a client.
pub(super) trait Socket: Source + Read + Write + Send + 'static {
    /// Whether it is to be read also when it becomes writable.
    const READS_WHEN_WRITABLE: bool = false;

    /// Whether a client cannot send requests at first.
    #[cfg(feature = "tls")]
    const HAS_HANDSHAKE: bool = false;

    /// Sends the output, or lets short output wait for other tasks of this worker. Returns false if
    /// the client takes no more now.
    fn send(io: &mut Buffered<Self>, _: &mut Context) -> io::Result<bool>
    where
        Self: Sized,
    {
        io.flush()
    }

    /// Returns true if the last read has ended before all that had come was read, to let other
    /// tasks have their turn.
    fn is_cut(&self) -> bool {
        false
    }

    /// Returns true if the client cannot send requests yet.
    #[cfg(feature = "tls")]
    fn is_handshaking(&self) -> bool {
        false
    }
}

impl<S: Batchable> Socket for BatchedStream<S> {
    fn send(io: &mut Buffered<Self>, cx: &mut Context) -> io::Result<bool> {
        io.flush_soon(cx)
    }
}

impl Socket for SimulatedStream {}
