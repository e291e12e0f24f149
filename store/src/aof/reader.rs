//! Reads the commands of a file.

use super::{AofError, AofErrorKind};
use crate::resp::Requests;
use memchr::memchr;
use std::io::{BufRead, ErrorKind};
use std::ops::Range;

/// The longest line: a length, or a comment.
const LONGEST_LINE: u64 = 1024;
/// The most arguments of a command, as in a request.
const MOST_ARGUMENTS: u64 = i32::MAX as u64;

/// A file of commands, which are requests of the protocol.
pub(crate) struct CommandReader<R> {
    input: R,
    offset: u64,
    /// The most bytes of an argument.
    longest: u64,
    /// Where the line begins that was read last.
    line_at: u64,
    line: Vec<u8>,
    /// The arguments of a command, one after the other.
    bytes: Vec<u8>,
    ranges: Vec<Range<usize>>,
}

/// What comes next in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextCommand {
    /// A command.
    Whole,
    /// Nothing.
    End,
    /// The beginning of a command, or of a comment.
    Torn,
}

/// What is left of a file is no whole line or argument, or it cannot be read.
enum Stop {
    Torn,
    Failed(AofError),
}

type Step<T> = Result<T, Stop>;

impl<R: BufRead> CommandReader<R> {
    /// Begins to read commands at this offset of a file. No argument is longer than `longest`.
    pub(crate) fn new(input: R, offset: u64, longest: u64) -> Self {
        let (line, bytes, ranges) = (Vec::new(), Vec::new(), Vec::new());
        Self { input, offset, longest, line_at: offset, line, bytes, ranges }
    }

    /// Returns how many bytes of the file were read.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Appends the next command to `requests`. Memory grows only with the bytes that are there.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has what is no command.
    pub(crate) fn next(&mut self, requests: &mut Requests) -> Result<NextCommand, AofError> {
        match self.read() {
            Ok(true) => {
                requests.push(self.ranges.iter().map(|range| &self.bytes[range.clone()]));
                Ok(NextCommand::Whole)
            }
            Ok(false) => Ok(NextCommand::End),
            Err(Stop::Torn) => Ok(NextCommand::Torn),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Reads a command. Returns false at the end.
    fn read(&mut self) -> Step<bool> {
        self.bytes.clear();
        self.ranges.clear();
        let count = loop {
            match self.line()? {
                None => return Ok(false),
                Some(b'#') => {}
                Some(b'*') => {
                    break self.number("a command does not begin with the number of its arguments")?;
                }
                Some(_) => return Err(self.malformed("a command does not begin with *")),
            }
        };
        if count == 0 {
            return Err(self.malformed("a command has no arguments"));
        }
        if count > MOST_ARGUMENTS {
            return Err(self.malformed("a command has too many arguments"));
        }
        for _ in 0..count {
            match self.line()? {
                None => return Err(Stop::Torn),
                Some(b'$') => self.argument()?,
                Some(_) => return Err(self.malformed("an argument does not begin with $")),
            }
        }
        Ok(true)
    }

    /// Returns the error that the line is not as the format has it.
    fn malformed(&self, why: &'static str) -> Stop {
        Stop::Failed(AofError::new(self.line_at, AofErrorKind::Malformed(why)))
    }

    /// Appends bytes of the input to `out`: this many at most, and none after the first that is
    /// `last`. Returns how many: fewer only at the end of the file.
    fn copy(input: &mut R, offset: &mut u64, out: &mut Vec<u8>, most: u64, last: Option<u8>) -> Step<u64> {
        let mut copied = 0;
        while copied < most {
            let there = match input.fill_buf() {
                Ok([]) => break,
                Ok(there) => &there[..(most - copied).min(there.len() as u64) as usize],
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Stop::Failed(AofError::new(*offset, AofErrorKind::Io(error)))),
            };
            let found = last.and_then(|last| memchr(last, there));
            let count = found.map_or(there.len(), |at| at + 1);
            out.extend_from_slice(&there[..count]);
            input.consume(count);
            *offset += count as u64;
            copied += count as u64;
            if found.is_some() {
                break;
            }
        }
        Ok(copied)
    }

    /// Reads a line. Returns its first byte; `None` at the end of the file.
    fn line(&mut self) -> Step<Option<u8>> {
        self.line_at = self.offset;
        self.line.clear();
        Self::copy(&mut self.input, &mut self.offset, &mut self.line, LONGEST_LINE, Some(b'\n'))?;
        let Some(&first) = self.line.first() else { return Ok(None) };
        match self.line.last() {
            Some(b'\n') => Ok(Some(first)),
            _ if self.line.len() as u64 == LONGEST_LINE => Err(self.malformed("a line is too long")),
            _ if !matches!(first, b'#' | b'*' | b'$') => Ok(Some(first)),
            _ if first != b'#' && !self.begins_as_number() => Err(self.malformed("a line is no number")),
            _ => Err(Stop::Torn),
        }
    }

    /// Returns true if the line may be the beginning of one with a number.
    fn begins_as_number(&self) -> bool {
        let digits = &self.line[1..];
        digits.strip_suffix(b"\r").unwrap_or(digits).iter().all(u8::is_ascii_digit)
    }

    /// Returns the number of the line after its first byte.
    fn number(&self, why: &'static str) -> Step<u64> {
        let digits =
            self.line[1..].strip_suffix(b"\r\n").filter(|digits| digits.iter().all(u8::is_ascii_digit));
        let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        number.ok_or_else(|| self.malformed(why))
    }

    /// Reads an argument, whose length is the line.
    fn argument(&mut self) -> Step<()> {
        let length = self.number("an argument does not begin with its length")?;
        // What follows would count as part of an argument that is torn.
        if length > self.longest {
            return Err(self.malformed("an argument is longer than proto-max-bulk-len"));
        }
        let start = self.bytes.len();
        if Self::copy(&mut self.input, &mut self.offset, &mut self.bytes, length, None)? < length {
            return Err(Stop::Torn);
        }
        let end = self.bytes.len();
        self.ranges.push(start..end);
        self.line_at = self.offset;
        Self::copy(&mut self.input, &mut self.offset, &mut self.bytes, 2, None)?;
        let ending = &self.bytes[end..];
        let (is_whole, is_right) = (ending.len() == 2, b"\r\n".starts_with(ending));
        self.bytes.truncate(end);
        match (is_whole, is_right) {
            (_, false) => Err(self.malformed("an argument is longer than its length")),
            (false, true) => Err(Stop::Torn),
            (true, true) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: &[u8] =
        b"#TS:1700000000\r\n*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\r\nb\r\n";

    /// Returns the commands, what comes after them, and where that is.
    fn read(bytes: &[u8]) -> (Vec<Vec<Vec<u8>>>, Result<NextCommand, String>, u64) {
        let (mut reader, mut requests) = (CommandReader::new(bytes, 0, 512 << 20), Requests::default());
        let mut end = 0;
        let last = loop {
            match reader.next(&mut requests) {
                Ok(NextCommand::Whole) => end = reader.offset(),
                Ok(other) => break Ok(other),
                Err(error) => break Err(error.to_string()),
            }
        };
        let words = |index| requests.args(index).iter().map(<[u8]>::to_vec).collect();
        ((0..requests.len()).map(words).collect(), last, end)
    }

    #[test]
    fn commands_are_read_as_they_were_written() {
        let (commands, last, end) = read(COMMANDS);
        assert_eq!(commands, [vec![&b"PING"[..]], vec![b"SET", b"", b"a\r\nb"]]);
        assert_eq!((last, end), (Ok(NextCommand::End), COMMANDS.len() as u64));
    }

    #[test]
    fn a_file_that_ends_anywhere_is_torn_and_not_damaged() {
        let first = 30;
        for end in 0..COMMANDS.len() {
            let (commands, last, _) = read(&COMMANDS[..end]);
            let is_between = [0, 16, first].contains(&end);
            let expected = if is_between { NextCommand::End } else { NextCommand::Torn };
            assert_eq!((commands.len(), last), (usize::from(end >= first), Ok(expected)), "{end}");
        }
    }

    #[test]
    fn what_is_no_command_is_damage() {
        for (bytes, why) in [
            (&b"PING\r\n"[..], "a command does not begin with *"),
            (b"\0\0\0\0", "a command does not begin with *"),
            (b"*x\r\n", "a command does not begin with the number of its arguments"),
            (b"*1\n", "a command does not begin with the number of its arguments"),
            (b"*-1\r\n", "a command does not begin with the number of its arguments"),
            (b"*0\r\n", "a command has no arguments"),
            (b"*1x", "a line is no number"),
            (b"*1\r\n:4\r\n", "an argument does not begin with $"),
            (b"*1\r\n$\r\n", "an argument does not begin with its length"),
            (b"*1\r\n$4\r\nPING__", "an argument is longer than its length"),
            (b"*1\r\n$4\r\nPING_", "an argument is longer than its length"),
            (b"*1\r\n$536870913\r\nPING\r\n", "an argument is longer than proto-max-bulk-len"),
            (b"*1\r\n$18446744073709551615\r\nPING", "an argument is longer than proto-max-bulk-len"),
            (b"*2147483648\r\n$4\r\nPING\r\n", "a command has too many arguments"),
            (&[b'#'; 2000], "a line is too long"),
        ] {
            let (_, last, _) = read(bytes);
            assert!(
                last.clone().is_err_and(|text| text.ends_with(why)),
                "{}: {last:?}",
                bytes.escape_ascii()
            );
        }
        // A length that is not there takes no memory.
        assert_eq!(read(b"*2147483647\r\n$536870912\r\nPING").1, Ok(NextCommand::Torn));
    }
}
