//! Replies as bytes.

use super::number::format_double;

/// The version of the protocol that a connection speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2, which every connection begins with.
    #[default]
    Two,
    /// RESP3, chosen by `HELLO 3`.
    Three,
}

/// Writes replies into a buffer. What one protocol lacks is written as its clients expect it: a map
/// as an array of twice the length, a double as a bulk string.
///
/// An aggregate is begun by its length; its elements follow.
///
/// ```
/// use xtasking_store::resp::{Protocol, Reply};
///
/// let mut reply = Reply::new(Protocol::Two);
/// reply.array(2);
/// reply.bulk(b"key");
/// reply.integer(7);
/// assert_eq!(reply.as_bytes(), b"*2\r\n$3\r\nkey\r\n:7\r\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reply {
    out: Vec<u8>,
    protocol: Protocol,
}

impl Reply {
    /// Makes an empty reply.
    pub fn new(protocol: Protocol) -> Self {
        Self { out: Vec::new(), protocol }
    }

    /// Makes an empty reply with room for this many bytes.
    pub fn with_room(protocol: Protocol, bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes), protocol }
    }

    /// Returns what was written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.out
    }

    /// Returns what was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Returns the number of bytes that were written.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Returns true if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Removes what was written after the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.out.truncate(len);
    }

    /// Returns the version of the protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Changes the version of the protocol for what follows.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// Writes bytes that are in the protocol already.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Writes `OK`.
    pub fn ok(&mut self) {
        self.raw(b"+OK\r\n");
    }

    /// Writes a simple string. It has no line breaks.
    pub fn simple(&mut self, text: &str) {
        debug_assert!(!text.contains(['\r', '\n']), "a simple string is one line");
        self.line(b'+', text.as_bytes());
    }

    /// Writes a simple string of bytes. It has no line breaks.
    pub(crate) fn simple_bytes(&mut self, text: &[u8]) {
        self.line(b'+', text);
    }

    /// Writes an error: a code, a space and a text. Line breaks become spaces, but for those at the
    /// end, which are dropped.
    pub fn error(&mut self, text: &[u8]) {
        let last = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
        let text = &text[..last.map_or(0, |last| last + 1)];
        let start = self.out.len() + 1;
        self.line(b'-', text);
        let end = self.out.len() - 2;
        for byte in &mut self.out[start..end] {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
    }

    /// Writes an integer.
    pub fn integer(&mut self, value: i64) {
        self.number(b':', value);
    }

    /// Writes a count as an integer.
    pub fn count(&mut self, value: usize) {
        self.integer(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// Writes a bulk string.
    pub fn bulk(&mut self, bytes: &[u8]) {
        // Room for the header and the end too.
        self.out.reserve(bytes.len() + 24);
        self.length(b'$', bytes.len());
        self.raw(bytes);
        self.raw(b"\r\n");
    }

    /// Writes an integer as a bulk string.
    pub fn bulk_integer(&mut self, value: i64) {
        self.bulk(itoa::Buffer::new().format(value).as_bytes());
    }

    /// Writes a bulk string, or null if there is none.
    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// Writes null, where a bulk string would be.
    pub fn null(&mut self) {
        self.by_protocol(b"$-1\r\n", b"_\r\n");
    }

    /// Writes null, where an array would be.
    pub fn null_array(&mut self) {
        self.by_protocol(b"*-1\r\n", b"_\r\n");
    }

    /// Begins an array of `len` elements.
    pub fn array(&mut self, len: usize) {
        self.length(b'*', len);
    }

    /// Inserts bytes before what was written from `at` on.
    pub(crate) fn insert(&mut self, at: usize, bytes: &[u8]) {
        self.out.splice(at..at, bytes.iter().copied());
    }

    /// Begins an array before what was written from `at` on: its elements, as many as `len` says.
    pub(crate) fn insert_array(&mut self, at: usize, len: usize) {
        self.insert_head(at, |head| head.array(len));
    }

    /// Begins a map before what was written from `at` on: its pairs, as many as `len` says.
    pub(crate) fn insert_map(&mut self, at: usize, len: usize) {
        self.insert_head(at, |head| head.map(len));
    }

    fn insert_head(&mut self, at: usize, write: impl FnOnce(&mut Self)) {
        let mut head = Self::new(self.protocol);
        write(&mut head);
        self.insert(at, &head.out);
    }

    /// Begins a map of `len` pairs.
    pub fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Two => self.length(b'*', 2 * len),
            Protocol::Three => self.length(b'%', len),
        }
    }

    /// Begins a set of `len` elements.
    pub fn set(&mut self, len: usize) {
        self.length(if self.protocol == Protocol::Two { b'*' } else { b'~' }, len);
    }

    /// Begins a message that no request asked for.
    pub fn push(&mut self, len: usize) {
        self.length(if self.protocol == Protocol::Two { b'*' } else { b'>' }, len);
    }

    /// Writes a floating-point number, with 17 digits as Redis does.
    pub fn double(&mut self, value: f64) {
        self.number_text(&format_double(value));
    }

    /// Writes a floating-point number without an exponent, with up to 17 digits after the point.
    pub fn fixed_double(&mut self, value: f64) {
        let text = format!("{value:.17}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        self.number_text(if text == "-0" { "0" } else { text });
    }

    /// Writes true or false: as 1 or 0 in RESP2.
    pub fn boolean(&mut self, value: bool) {
        match value {
            true => self.by_protocol(b":1\r\n", b"#t\r\n"),
            false => self.by_protocol(b":0\r\n", b"#f\r\n"),
        }
    }

    /// Writes an integer of any size, given in decimal.
    pub fn big_number(&mut self, digits: &str) {
        match self.protocol {
            Protocol::Two => self.bulk(digits.as_bytes()),
            Protocol::Three => self.line(b'(', digits.as_bytes()),
        }
    }

    /// Writes a text for people. `format` has three letters: `txt` or `mkd`.
    pub fn verbatim(&mut self, format: &str, text: &[u8]) {
        debug_assert_eq!(format.len(), 3, "the format is three letters");
        match self.protocol {
            Protocol::Two => self.bulk(text),
            Protocol::Three => {
                self.length(b'=', text.len() + 4);
                self.raw(format.as_bytes());
                self.raw(b":");
                self.raw(text);
                self.raw(b"\r\n");
            }
        }
    }

    /// Writes a floating-point number by its text.
    fn number_text(&mut self, text: &str) {
        match self.protocol {
            Protocol::Two => self.bulk(text.as_bytes()),
            Protocol::Three => self.line(b',', text.as_bytes()),
        }
    }

    fn by_protocol(&mut self, two: &[u8], three: &[u8]) {
        self.raw(if self.protocol == Protocol::Two { two } else { three });
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.push(kind);
        self.raw(text);
        self.raw(b"\r\n");
    }

    fn length(&mut self, kind: u8, len: usize) {
        self.number(kind, i64::try_from(len).unwrap_or(i64::MAX));
    }

    fn number(&mut self, kind: u8, value: i64) {
        match value {
            0..10 => self.raw(&[kind, b'0' + value as u8, b'\r', b'\n']),
            10..100 => self.raw(&[kind, b'0' + (value / 10) as u8, b'0' + (value % 10) as u8, b'\r', b'\n']),
            _ => self.line(kind, itoa::Buffer::new().format(value).as_bytes()),
        }
    }
}
