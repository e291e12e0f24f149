//! TLS: streams whose bytes are encrypted on their way.

use super::listener::{Listen, Terms};
use super::socket::Socket;
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::sync::Arc;
use xtasking::events::net::{BatchedStream, TcpListener, TcpStream};
use xtasking::events::{Registration, Source};
use xtasking::platform::PlatformError;

/// The most bytes that are encrypted before they are sent.
const MOST_AT_ONCE: usize = 32 << 10;

/// How often a read receives, at most: records need not have any data. Each time takes some 4 KiB.
const MOST_RECEIVES: usize = 8;

/// A stream to a client that speaks TLS. The handshake is part of the first reads.
pub(super) struct TlsStream<T: Read + Write = BatchedStream<TcpStream>> {
    tcp: T,
    tls: ServerConnection,
    /// Bytes that were encrypted and are not sent yet. They count as written once they are.
    held: usize,
    /// Whether the last read has ended before all was received.
    is_cut: bool,
}

impl<T: Read + Write> TlsStream<T> {
    fn new(tcp: T, tls: ServerConnection) -> Self {
        Self { tcp, tls, held: 0, is_cut: false }
    }

    /// Receives some bytes of the client, and answers what belongs to the handshake.
    fn receive(&mut self) -> io::Result<()> {
        // What was left of an answer: the client may wait for it, and send nothing before.
        self.send().or_else(|error| match error.kind() {
            ErrorKind::WouldBlock => Ok(()),
            _ => Err(error),
        })?;
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

impl<T: Read + Write> Read for TlsStream<T> {
    /// Reads until the buffer is full or nothing more has come: so fewer bytes mean that, unless
    /// the read was cut.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (mut filled, mut receives) = (0, 0);
        self.is_cut = false;
        while filled < buffer.len() {
            let received = match self.tls.reader().read(&mut buffer[filled..]) {
                // The client has said that it sends nothing more, or the stream has ended. No event
                // comes of the former, so the next read has to say so.
                Ok(0) => {
                    self.is_cut = filled > 0 && !planted!("end-behind-data-unseen");
                    break;
                }
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Ok(bytes) => {
                    filled += bytes;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_cut = receives == MOST_RECEIVES;
                    receives += 1;
                    if self.is_cut { Err(error) } else { self.receive() }
                }
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

impl<T: Read + Write> Write for TlsStream<T> {
    /// Encrypts and sends bytes. After `WouldBlock` the next call has to begin with the same bytes.
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if self.held == 0 || planted!("encrypted-twice") {
            self.held = self.tls.writer().write(&buffer[..buffer.len().min(MOST_AT_ONCE)])?;
        }
        self.send()?;
        Ok(mem::take(&mut self.held))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()?;
        self.tcp.flush()
    }
}

impl Source for TlsStream {
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        self.tcp.register(registration)
    }

    fn deregister(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        self.tcp.deregister(registration)
    }

    /// Of the handshake it counts no bytes, but whether there are some.
    fn unsent(&self) -> usize {
        self.tcp.unsent() + usize::from(self.tls.wants_write())
    }
}

impl Socket for TlsStream {
    // Of the handshake something may be left to send.
    const READS_WHEN_WRITABLE: bool = true;
    const HAS_HANDSHAKE: bool = true;

    fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }
}

impl<T: Read + Write> Drop for TlsStream<T> {
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

    fn accept(&mut self, terms: &Terms) -> io::Result<Option<(TlsStream, [String; 2])>> {
        let Some((tcp, addresses)) = Listen::accept(&mut self.tcp, terms)? else { return Ok(None) };
        let tls = ServerConnection::new(self.config.clone()).map_err(io::Error::other)?;
        Ok(Some((TlsStream::new(tcp, tls), addresses)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::crypto::ring::default_provider;
    use rustls::pki_types::{PrivateKeyDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use std::collections::VecDeque;

    /// A transport: what has come, and what was sent.
    struct Pipe {
        received: VecDeque<u8>,
        /// The most bytes of a read.
        most: usize,
        reads: usize,
        sent: Vec<u8>,
        /// The bytes that may be sent.
        room: usize,
    }

    impl Read for Pipe {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.received.is_empty() {
                return Err(ErrorKind::WouldBlock.into());
            }
            self.reads += 1;
            let bytes = buffer.len().min(self.most);
            self.received.read(&mut buffer[..bytes])
        }
    }

    impl Write for Pipe {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let bytes = buffer.len().min(self.room);
            self.room -= bytes;
            self.sent.write(&buffer[..bytes])
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A stream, and a client that has begun a handshake.
    fn pair() -> (TlsStream<Pipe>, ClientConnection) {
        let key = rcgen::generate_simple_self_signed(["store".to_owned()]).unwrap();
        let mut authorities = RootCertStore::empty();
        authorities.add(key.cert.der().clone()).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let client = client.with_safe_default_protocol_versions().unwrap();
        let client = client.with_root_certificates(authorities).with_no_client_auth();
        let server = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let server = server.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let secret = PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into());
        let server = server.with_single_cert(vec![key.cert.der().clone()], secret).unwrap();
        let name = ServerName::try_from("store").unwrap();
        let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
        let pipe = Pipe {
            received: VecDeque::new(),
            most: usize::MAX,
            reads: 0,
            sent: Vec::new(),
            room: usize::MAX,
        };
        let mut stream = TlsStream::new(pipe, ServerConnection::new(Arc::new(server)).unwrap());
        exchange(&mut stream, &mut client);
        (stream, client)
    }

    /// Passes to the client what was sent, and to the stream what it sends.
    fn exchange(stream: &mut TlsStream<Pipe>, client: &mut ClientConnection) {
        let sent = std::mem::take(&mut stream.tcp.sent);
        let mut sent = &sent[..];
        while !sent.is_empty() {
            client.read_tls(&mut sent).unwrap();
            client.process_new_packets().unwrap();
        }
        while client.wants_write() {
            client.write_tls(&mut stream.tcp.received).unwrap();
        }
    }

    fn would_block(stream: &mut TlsStream<Pipe>) -> bool {
        stream.read(&mut [0; 64]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    #[test]
    fn the_rest_of_an_answer_is_sent_when_there_is_room() {
        let (mut stream, mut client) = pair();
        stream.tcp.room = 100;
        assert!(would_block(&mut stream));
        assert_eq!(stream.tcp.sent.len(), 100);
        stream.tcp.room = usize::MAX;
        // The socket is writable, and nothing has come.
        assert!(would_block(&mut stream));
        exchange(&mut stream, &mut client);
        assert!(would_block(&mut stream));
        assert!(!stream.tls.is_handshaking() && !client.is_handshaking());
    }

    #[test]
    fn the_end_behind_data_is_read() {
        let (mut stream, mut client) = pair();
        assert!(would_block(&mut stream));
        exchange(&mut stream, &mut client);
        client.writer().write_all(b"PING\r\n").unwrap();
        client.send_close_notify();
        assert!(would_block(&mut stream));
        exchange(&mut stream, &mut client);
        let mut data = [0; 64];
        assert_eq!(stream.read(&mut data).unwrap(), 6);
        assert!(stream.is_cut);
        assert_eq!(stream.read(&mut data).unwrap(), 0);
    }

    #[test]
    fn bytes_that_wait_for_room_are_encrypted_once() {
        let (mut stream, mut client) = pair();
        assert!(would_block(&mut stream));
        exchange(&mut stream, &mut client);
        assert!(would_block(&mut stream));
        let data = [b'x'; 1000];
        stream.tcp.room = 100;
        let refused = |written: io::Result<usize>| written.is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
        assert!(refused(stream.write(&data)) && refused(stream.write(&data)));
        stream.tcp.room = usize::MAX;
        assert_eq!(stream.write(&data).unwrap(), data.len());
        exchange(&mut stream, &mut client);
        let mut received = [0; 4000];
        assert_eq!(client.reader().read(&mut received).unwrap(), data.len());
        let more = client.reader().read(&mut received);
        assert!(more.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    }

    #[test]
    fn a_read_ends_also_if_it_finds_no_data() {
        let (mut stream, mut client) = pair();
        assert!(would_block(&mut stream));
        exchange(&mut stream, &mut client);
        client.writer().write_all(&[b'x'; 100]).unwrap();
        assert!(would_block(&mut stream));
        exchange(&mut stream, &mut client);
        (stream.tcp.most, stream.tcp.reads) = (1, 0);
        assert!(would_block(&mut stream));
        assert!(stream.is_cut && stream.tcp.reads == MOST_RECEIVES);
        let mut data = [0; 200];
        let bytes = loop {
            match stream.read(&mut data) {
                Ok(bytes) => break bytes,
                Err(error) => assert!(error.kind() == ErrorKind::WouldBlock && stream.is_cut),
            }
        };
        assert_eq!(bytes, 100);
        while stream.is_cut {
            assert!(would_block(&mut stream));
        }
        assert!(stream.tcp.received.is_empty());
    }
}
