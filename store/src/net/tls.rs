//! TLS: streams whose bytes are encrypted on their way.

use super::connection::{Connection, Socket};
use super::connections::Handle;
use super::listener::Listen;
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::sync::Arc;
use xtasking::events::net::{TcpListener, TcpStream};
use xtasking::events::{Registration, Source};
use xtasking::platform::PlatformError;
use xtasking::{Object, Plain};

/// The most bytes that are encrypted before they are sent.
const MOST_AT_ONCE: usize = 32 << 10;

/// A stream to a client that speaks TLS. The handshake is part of the first reads.
pub(super) struct TlsStream {
    tcp: TcpStream,
    tls: ServerConnection,
    /// Bytes that were encrypted and are not sent yet. They count as written once they are.
    held: usize,
}

impl TlsStream {
    /// Receives some bytes of the client, and answers what belongs to the handshake.
    fn receive(&mut self) -> io::Result<()> {
        self.tls.read_tls(&mut self.tcp)?;
        let processed = self.tls.process_new_packets();
        // After an error the client gets an alert.
        let sent = self.send();
        processed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        match sent {
            // The rest is sent when the socket is writable.
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends what was encrypted.
    fn send(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            if self.tls.write_tls(&mut self.tcp)? == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }
}

impl Read for TlsStream {
    /// Reads until the buffer is full or nothing more has come: so fewer bytes mean that.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let received = match self.tls.reader().read(&mut buffer[filled..]) {
                // The client has said that it sends nothing more, or the stream has ended.
                Ok(0) => break,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Ok(bytes) => {
                    filled += bytes;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.receive(),
                Err(error) => Err(error),
            };
            match received {
                Err(error) if error.kind() == ErrorKind::WouldBlock && filled > 0 => break,
                received => received?,
            }
        }
        Ok(filled)
    }
}

impl Write for TlsStream {
    /// Encrypts and sends bytes. After `WouldBlock` the next call has to begin with the same bytes.
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if self.held == 0 || planted!("encrypted-twice") {
            self.held = self.tls.writer().write(&buffer[..buffer.len().min(MOST_AT_ONCE)])?;
        }
        self.send()?;
        Ok(mem::take(&mut self.held))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

impl Source for TlsStream {
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        self.tcp.register(registration)
    }

    fn deregister(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        self.tcp.deregister(registration)
    }
}

impl Socket for TlsStream {
    // Of the handshake something may be left to send.
    const READS_WHEN_WRITABLE: bool = true;
}

impl Drop for TlsStream {
    /// Says that nothing more comes, if that can be sent at once.
    fn drop(&mut self) {
        self.tls.send_close_notify();
        _ = self.send();
    }
}

/// A socket that accepts clients that speak TLS.
pub(super) struct TlsListener {
    tcp: TcpListener,
    config: Arc<ServerConfig>,
}

impl TlsListener {
    pub fn new(tcp: TcpListener, config: Arc<ServerConfig>) -> Self {
        Self { tcp, config }
    }
}

impl Source for TlsListener {
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        self.tcp.register(registration)
    }

    fn deregister(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        self.tcp.deregister(registration)
    }
}

impl Listen for TlsListener {
    type Stream = TlsStream;

    fn accept(&self, is_open: bool) -> io::Result<Option<(TlsStream, [String; 2])>> {
        let Some((tcp, addresses)) = Listen::accept(&self.tcp, is_open)? else { return Ok(None) };
        let tls = ServerConnection::new(self.config.clone()).map_err(io::Error::other)?;
        Ok(Some((TlsStream { tcp, tls, held: 0 }, addresses)))
    }

    fn handle(object: Object<Plain<Connection<TlsStream>>>) -> Handle {
        Handle::Tls(object)
    }
}
