//! Responses, written within a time limit or at once.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

/// The bytes that are collected before they are sent.
const CHUNK: usize = 64 << 10;

/// One response. The connection is closed after it.
pub(crate) struct Response {
    status: &'static str,
    content_type: &'static str,
    /// Further lines of the head, each of which ends with `\r\n`.
    headers: String,
    body: Body,
}

enum Body {
    Text(Arc<str>),
    /// Text that may be too long to be held as a whole.
    Long(Box<dyn fmt::Display + Send>),
}

impl Response {
    pub fn new(content_type: &'static str, body: impl Into<Arc<str>>) -> Self {
        Self { status: "200 OK", content_type, headers: String::new(), body: Body::Text(body.into()) }
    }

    /// Makes a response that is written piece by piece.
    pub fn long(content_type: &'static str, body: impl fmt::Display + Send + 'static) -> Self {
        Self { body: Body::Long(Box::new(body)), ..Self::new(content_type, "") }
    }

    /// Makes a response of one line of text.
    pub fn plain(status: &'static str, text: &str) -> Self {
        Self { status, ..Self::new("text/plain; charset=utf-8", format!("{text}\n")) }
    }

    /// Adds a line to the head.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        debug_assert!(!value.contains(['\r', '\n']));
        self.headers += &format!("{name}: {value}\r\n");
        self
    }

    fn head(&self) -> String {
        let Self { status, content_type, headers, body } = self;
        let length = match body {
            Body::Text(text) => format!("Content-Length: {}", text.len()),
            Body::Long(_) => "Transfer-Encoding: chunked".to_owned(),
        };
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{length}\r\n{headers}\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\
             Connection: close\r\n\r\n",
        )
    }

    /// Writes the response.
    ///
    /// # Errors
    ///
    /// If the client is gone, or has not read it all at the deadline.
    pub fn write(&self, stream: &mut TcpStream, deadline: Instant) -> io::Result<()> {
        self.write_to(&mut DeadlineWriter { stream, deadline })
    }

    /// Writes a short response without waiting: a new connection has room for it. The stream does
    /// not block afterwards.
    ///
    /// # Errors
    ///
    /// If the client is gone, or the stream has no room for the whole response.
    pub fn write_at_once(&self, stream: &mut TcpStream) -> io::Result<()> {
        let mut text = Vec::new();
        self.write_to(&mut text)?;
        stream.set_nonblocking(true)?;
        stream.write_all(&text)
    }

    fn write_to(&self, writer: &mut impl Write) -> io::Result<()> {
        writer.write_all(self.head().as_bytes())?;
        match &self.body {
            Body::Text(text) => writer.write_all(text.as_bytes()),
            Body::Long(text) => {
                let mut buffer = BufWriter::with_capacity(CHUNK, ChunkWriter(&mut *writer));
                write!(buffer, "{text}")?;
                buffer.flush()?;
                drop(buffer);
                writer.write_all(b"0\r\n\r\n")
            }
        }
    }
}

/// Writes to a stream until a deadline.
struct DeadlineWriter<'a> {
    stream: &'a mut TcpStream,
    deadline: Instant,
}

impl Write for DeadlineWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_write_timeout(Some(left))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes each piece as a chunk of HTTP/1.1.
struct ChunkWriter<W>(W);

impl<W: Write> Write for ChunkWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !bytes.is_empty() {
            write!(self.0, "{:x}\r\n", bytes.len())?;
            self.0.write_all(bytes)?;
            self.0.write_all(b"\r\n")?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A client that does not read does not hold up the thread that accepts.
    #[test]
    fn a_response_at_once_does_not_wait_for_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let response = Response::plain("503 Service Unavailable", "Try again.");
        response.write_at_once(&mut stream).unwrap();
        while stream.write(&[0; 1 << 16]).is_ok() {}
        // The system may still make some room.
        let error = loop {
            stream.set_nonblocking(false).unwrap();
            if let Err(error) = response.write_at_once(&mut stream) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
