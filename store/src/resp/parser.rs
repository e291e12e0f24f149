//! Bytes become requests, as they arrive.

use super::Requests;
use super::inline::split_words;
use super::number::parse_integer;
use memchr::memchr;
use std::fmt;
use std::ops::Range;

/// The longest line without a length: an inline request, or the header of an array or bulk string.
const LONGEST_LINE: usize = 64 * 1024;
/// The most arguments of one request.
const MOST_ARGS: i64 = i32::MAX as i64;
/// The most arguments, and the longest argument, before the client has authenticated.
const MOST_ARGS_UNAUTHENTICATED: i64 = 10;
const LONGEST_ARG_UNAUTHENTICATED: i64 = 16 * 1024;

/// Headers are read in one go up to this many digits, and if no limit is below these lengths.
const SHORT_NUMBER: usize = 5;
const SHORT_ARRAY: usize = MOST_ARGS_UNAUTHENTICATED as usize;
const SHORT_STRING: usize = LONGEST_ARG_UNAUTHENTICATED as usize;

/// The most bytes whose memory a parser keeps between requests.
const MOST_RECYCLED: usize = 64 * 1024;
/// The most arguments whose places it keeps.
const MOST_ARGS_RECYCLED: usize = 2048;

/// What a request may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest argument in bytes: the setting `proto-max-bulk-len`.
    pub longest_arg: usize,
    /// False until a client that has to authenticate has done so.
    pub is_authenticated: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { longest_arg: 512 << 20, is_authenticated: true }
    }
}

/// Why bytes are no request. The connection is to be closed after the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError(Vec<u8>);

impl ProtocolError {
    fn new(text: &str) -> Self {
        Self(format!("ERR Protocol error: {text}").into_bytes())
    }

    /// Returns the text of the error reply.
    pub fn text(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(f)
    }
}

impl std::error::Error for ProtocolError {}

/// Parses requests out of bytes that arrive in pieces of any size. No byte is looked at twice, but
/// for the header of a request that is not whole.
///
/// ```
/// use xtasking_store::resp::Parser;
///
/// let mut parser = Parser::default();
/// parser.input().extend_from_slice(b"*1\r\n$4\r\nPING\r\nECHO 'a b'\r\n*2\r\n$3\r\nGET");
/// let (requests, error) = parser.parse();
/// assert_eq!(requests.len(), 2);
/// assert_eq!(&requests.args(1)[1], b"a b");
/// assert!(error.is_none());
/// ```
#[derive(Debug, Default)]
pub struct Parser {
    limits: Limits,
    /// What was received, from the start of the first request that was not returned.
    input: Vec<u8>,
    /// Up to here the input is parsed.
    position: usize,
    /// Up to here there is no end of a line after `position`.
    searched: usize,
    /// The request under way, if its header was read.
    open: Option<OpenRequest>,
    ranges: Vec<Range<usize>>,
    ends: Vec<usize>,
    /// Set once a request was malformed. What follows cannot be told apart.
    has_failed: bool,
}

/// An array whose elements are being read.
#[derive(Debug)]
struct OpenRequest {
    /// Arguments that are still to come.
    missing: usize,
    /// The length of the next one, if its header was read.
    length: Option<usize>,
}

/// What a step of the parser found.
enum Progress {
    /// A part of a request: go on.
    Parsed,
    /// The rest has not arrived.
    Incomplete,
}

impl Parser {
    /// Changes the limits for what was not parsed yet.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Returns the buffer to which received bytes are to be appended.
    pub fn input(&mut self) -> &mut Vec<u8> {
        &mut self.input
    }

    /// Returns the number of bytes that are buffered.
    pub fn buffered(&self) -> usize {
        self.input.len()
    }

    /// Returns the number of bytes for which there is room in the buffer.
    pub(crate) fn room(&self) -> usize {
        self.input.capacity() - self.input.len()
    }

    /// Returns the requests that have arrived, and what is wrong with the one after them. After an
    /// error there are no more.
    ///
    /// It stops before what only a client may send that has authenticated, if there are requests
    /// before that: they may do so. Then the next call goes on, with the new limits.
    pub fn parse(&mut self) -> (Requests, Option<ProtocolError>) {
        let error = loop {
            if self.has_failed {
                break None;
            }
            match self.step() {
                Ok(Progress::Parsed) => {}
                Ok(Progress::Incomplete) => break None,
                Err(error) => {
                    self.has_failed = true;
                    break Some(error);
                }
            }
        };
        (self.take_requests(), error)
    }

    /// Takes the memory of requests that are done, for the next ones.
    pub fn recycle(&mut self, requests: Requests) {
        let (mut buffer, mut ranges, mut ends) = requests.into_parts();
        if self.input.is_empty() && buffer.capacity() <= MOST_RECYCLED {
            buffer.clear();
            self.input = buffer;
        }
        if self.ranges.is_empty() && self.ends.is_empty() && ranges.capacity() <= MOST_ARGS_RECYCLED {
            ranges.clear();
            ends.clear();
            (self.ranges, self.ends) = (ranges, ends);
        }
    }

    /// Reads a request in one go, if it is here as a whole and its headers are short, as most are.
    /// Else nothing changes.
    #[inline]
    fn read_whole(&mut self) -> bool {
        let known = self.ranges.len();
        let Some((args @ 1..=SHORT_ARRAY, mut at)) = short_header(&self.input, self.position, b'*') else {
            return false;
        };
        let longest = SHORT_STRING.min(self.limits.longest_arg);
        for _ in 0..args {
            match short_header(&self.input, at, b'$') {
                // As in Redis, what ends the string is not looked at.
                Some((length, start)) if length <= longest && start + length + 2 <= self.input.len() => {
                    self.ranges.push(start..start + length);
                    at = start + length + 2;
                }
                _ => {
                    self.ranges.truncate(known);
                    return false;
                }
            }
        }
        self.ends.push(self.ranges.len());
        self.advance(at);
        true
    }

    fn step(&mut self) -> Result<Progress, ProtocolError> {
        if let Some(open) = &self.open {
            return match open.length {
                Some(length) => Ok(self.read_bulk(length)),
                None => self.read_bulk_header(),
            };
        }
        match self.input.get(self.position).copied() {
            None => Ok(Progress::Incomplete),
            Some(b'*') if self.read_whole() => Ok(Progress::Parsed),
            Some(b'*') => self.read_array_header(),
            Some(_) => self.read_inline(),
        }
    }

    fn read_array_header(&mut self) -> Result<Progress, ProtocolError> {
        if let Some((missing @ 1..=SHORT_ARRAY, end)) = short_header(&self.input, self.position, b'*') {
            self.advance(end);
            self.open = Some(OpenRequest { missing, length: None });
            return Ok(Progress::Parsed);
        }
        let Some(line) = self.line(b'\r', 2, "too big mbulk count string")? else {
            return Ok(Progress::Incomplete);
        };
        let count = parse_integer(&self.input[line.start + 1..line.end]);
        let count = count.filter(|&count| count <= MOST_ARGS);
        let count = count.ok_or_else(|| ProtocolError::new("invalid multibulk length"))?;
        if count > MOST_ARGS_UNAUTHENTICATED && !self.limits.is_authenticated {
            return self.refuse_unauthenticated("unauthenticated multibulk length");
        }
        self.advance(line.end + 2);
        // An empty array is no request, and has no reply.
        if count > 0 {
            self.open = Some(OpenRequest { missing: count as usize, length: None });
        }
        Ok(Progress::Parsed)
    }

    fn read_bulk_header(&mut self) -> Result<Progress, ProtocolError> {
        let short = short_header(&self.input, self.position, b'$')
            .filter(|&(length, _)| length <= SHORT_STRING.min(self.limits.longest_arg));
        if let Some((length, end)) = short {
            self.advance(end);
            return Ok(self.read_bulk(length));
        }
        let Some(line) = self.line(b'\r', 2, "too big bulk count string")? else {
            return Ok(Progress::Incomplete);
        };
        let kind = self.input[line.start];
        if kind != b'$' {
            let mut error = ProtocolError::new("expected '$', got '");
            error.0.extend([kind, b'\'']);
            return Err(error);
        }
        let length = parse_integer(&self.input[line.start + 1..line.end]).filter(|&length| length >= 0);
        let length = length.filter(|&length| length as u64 <= self.limits.longest_arg as u64);
        let length = length.ok_or_else(|| ProtocolError::new("invalid bulk length"))?;
        if length > LONGEST_ARG_UNAUTHENTICATED && !self.limits.is_authenticated {
            return self.refuse_unauthenticated("unauthenticated bulk length");
        }
        self.advance(line.end + 2);
        Ok(self.read_bulk(length as usize))
    }

    /// Refuses what is too much before the client has authenticated; not yet, if requests before
    /// it may authenticate.
    fn refuse_unauthenticated(&self, text: &str) -> Result<Progress, ProtocolError> {
        if self.ends.is_empty() { Err(ProtocolError::new(text)) } else { Ok(Progress::Incomplete) }
    }

    fn read_bulk(&mut self, length: usize) -> Progress {
        let end = self.position + length;
        // As in Redis, what ends the string is not looked at.
        if self.input.len() < end + 2 {
            if let Some(open) = &mut self.open {
                open.length = Some(length);
            }
            return Progress::Incomplete;
        }
        self.ranges.push(self.position..end);
        self.advance(end + 2);
        if let Some(open) = &mut self.open {
            open.missing -= 1;
            open.length = None;
            if open.missing == 0 {
                self.open = None;
                self.ends.push(self.ranges.len());
            }
        }
        Progress::Parsed
    }

    fn read_inline(&mut self) -> Result<Progress, ProtocolError> {
        let Some(line) = self.line(b'\n', 1, "too big inline request")? else {
            return Ok(Progress::Incomplete);
        };
        let text = &mut self.input[line.clone()];
        // The words take at most the place of the text that they stand in.
        let words = split_words(text).ok_or_else(|| ProtocolError::new("unbalanced quotes in request"))?;
        if !words.is_empty() {
            let moved = words.into_iter().map(|word| word.start + line.start..word.end + line.start);
            self.ranges.extend(moved);
            self.ends.push(self.ranges.len());
        }
        self.advance(line.end + 1);
        Ok(Progress::Parsed)
    }

    /// Returns the line at the position, without its end, if that has arrived: the byte `end`, with
    /// which the end has `length` bytes.
    fn line(
        &mut self,
        end: u8,
        length: usize,
        too_long: &str,
    ) -> Result<Option<Range<usize>>, ProtocolError> {
        let from = self.searched.max(self.position);
        let Some(at) = memchr(end, &self.input[from..]).map(|at| from + at) else {
            self.searched = self.input.len();
            let is_long = self.input.len() - self.position > LONGEST_LINE;
            return if is_long { Err(ProtocolError::new(too_long)) } else { Ok(None) };
        };
        self.searched = at;
        Ok((self.input.len() >= at + length).then_some(self.position..at))
    }

    fn advance(&mut self, position: usize) {
        self.position = position;
        self.searched = position;
    }

    /// Frees what was parsed and is no part of a request, such as empty lines.
    fn drop_empty_requests(&mut self) {
        if self.ranges.is_empty() && self.position > 0 {
            self.input.drain(..self.position);
            self.searched -= self.position;
            self.position = 0;
        }
    }

    /// Takes the complete requests with their bytes, and leaves the rest.
    fn take_requests(&mut self) -> Requests {
        let Some(&complete) = self.ends.last() else {
            self.drop_empty_requests();
            return Requests::default();
        };
        let rest_starts = match self.ranges.get(complete) {
            Some(first) => first.start,
            None => self.position,
        };
        let rest = self.input.split_off(rest_starts);
        let open_ranges = self.ranges.split_off(complete);
        let buffer = std::mem::replace(&mut self.input, rest);
        let ranges = std::mem::take(&mut self.ranges);
        self.ranges.extend(open_ranges.into_iter().map(|r| r.start - rest_starts..r.end - rest_starts));
        self.position -= rest_starts;
        self.searched -= rest_starts;
        Requests::from_parts(buffer, ranges, std::mem::take(&mut self.ends))
    }
}

/// Reads the header of an array or bulk string whose number is short, as most are: returns the
/// number, and where the header ends. `None` leaves it to the general way.
#[inline]
fn short_header(input: &[u8], at: usize, kind: u8) -> Option<(usize, usize)> {
    let (&first, rest) = input.get(at..)?.split_first()?;
    if first != kind {
        return None;
    }
    let mut number = 0;
    for (digits, &byte) in rest.iter().take(SHORT_NUMBER).enumerate() {
        match byte {
            // Other than `0`, numbers do not begin with a zero.
            b'0'..=b'9' if digits == 0 || number > 0 => number = 10 * number + usize::from(byte - b'0'),
            b'\r' if digits > 0 && rest.len() > digits + 1 => return Some((number, at + digits + 3)),
            _ => return None,
        }
    }
    None
}
