//! IDs among the arguments.

use super::super::CommandError;
use super::super::error::printed;
use crate::value::StreamId;

/// The longest text of an ID that is looked at.
const LONGEST: usize = 127;
const INVALID: CommandError =
    CommandError::fixed("ERR Invalid stream ID specified as stream command argument");

/// The ID of an entry to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewId {
    /// The time, and a number that none had.
    Auto,
    /// A number that none of this time had.
    AutoSeq(u64),
    /// This one.
    Given(StreamId),
}

/// Reads a number as C's `strtoull` does: spaces and a sign may come first.
fn parse_number(text: &[u8]) -> Option<u64> {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'\x0b';
    let digits = &text[text.iter().position(|byte| !is_space(byte))?..];
    let (is_negative, digits) = match digits {
        // Only a text that is no integer in Redis' form gets here with a sign.
        [b'-', b'1'..=b'9', ..] if digits.len() == text.len() => return None,
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if is_negative { number.wrapping_neg() } else { number })
}

/// Reads the two parts of an ID: the time, and what follows it.
fn parts(arg: &[u8]) -> Result<(u64, Option<&[u8]>), CommandError> {
    if arg.len() > LONGEST {
        return Err(INVALID);
    }
    let text = printed(arg, LONGEST);
    let bar = text.iter().position(|byte| *byte == b'-');
    let (ms, seq) = bar.map_or((text, None), |bar| (&text[..bar], Some(&text[bar + 1..])));
    Ok((parse_number(ms).ok_or(INVALID)?, seq))
}

/// Reads an ID. If it is a time alone, the number is `missing`.
pub(super) fn strict(arg: &[u8], missing: u64) -> Result<StreamId, CommandError> {
    let (ms, seq) = parts(arg)?;
    let seq = seq.map_or(Some(missing), parse_number).ok_or(INVALID)?;
    Ok(StreamId { ms, seq })
}

/// Reads an ID; `-` and `+` are the least and the greatest one.
pub(super) fn any(arg: &[u8], missing: u64) -> Result<StreamId, CommandError> {
    match printed(arg, LONGEST) {
        b"-" => Ok(StreamId::MIN),
        b"+" => Ok(StreamId::MAX),
        _ => strict(arg, missing),
    }
}

/// Reads the ID of an entry to be added.
pub(super) fn new(arg: &[u8]) -> Result<NewId, CommandError> {
    match parts(arg)? {
        (ms, Some(b"*")) => Ok(NewId::AutoSeq(ms)),
        _ => strict(arg, 0).map(NewId::Given),
    }
}

/// Reads the start of a range, which an opening bracket excludes.
pub(super) fn range_start(arg: &[u8]) -> Result<StreamId, CommandError> {
    const NONE: CommandError = CommandError::fixed("ERR invalid start ID for the interval");
    match arg {
        [b'(', arg @ ..] if !arg.is_empty() => strict(arg, 0)?.next().ok_or(NONE),
        _ => any(arg, 0),
    }
}

/// Reads the end of a range, which an opening bracket excludes.
pub(super) fn range_end(arg: &[u8]) -> Result<StreamId, CommandError> {
    const NONE: CommandError = CommandError::fixed("ERR invalid end ID for the interval");
    match arg {
        [b'(', arg @ ..] if !arg.is_empty() => strict(arg, u64::MAX)?.previous().ok_or(NONE),
        _ => any(arg, u64::MAX),
    }
}

/// Reads IDs.
pub(super) fn all<'a>(args: impl Iterator<Item = &'a [u8]>) -> Result<Vec<StreamId>, CommandError> {
    args.map(|arg| strict(arg, 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_redis_does() {
        let id = |ms, seq| Some(StreamId { ms, seq });
        for (text, expected) in [
            ("5-3", id(5, 3)),
            ("5", id(5, 9)),
            ("05-+3", id(5, 3)),
            (" 5", id(5, 9)),
            ("5\0x", id(5, 9)),
            ("5--01", id(5, u64::MAX)),
            ("5--1", None),
            ("18446744073709551615-18446744073709551615", Some(StreamId::MAX)),
            ("18446744073709551616", None),
            ("", None),
            ("-", None),
            ("+", None),
            ("-1", None),
            ("1-", None),
            ("1-*", None),
            ("x", None),
            ("5 ", None),
        ] {
            assert_eq!(strict(text.as_bytes(), 9).ok(), expected, "{text:?}");
        }
        assert_eq!(strict(&[b'0'; 127], 0).ok(), id(0, 0));
        assert_eq!(strict(&[b'0'; 128], 0).ok(), None);
        assert_eq!((any(b"-", 0).unwrap(), any(b"+", 0).unwrap()), (StreamId::MIN, StreamId::MAX));
        assert_eq!(new(b"7-*").unwrap(), NewId::AutoSeq(7));
        assert_eq!((range_start(b"(5").ok(), range_end(b"(5-0").ok()), (id(5, 1), id(4, u64::MAX)));
        assert_eq!((range_start(b"("), range_end(b"(0-0").is_err()), (Err(INVALID), true));
        assert!(
            range_start(b"(-").is_err()
                && range_start(b"(18446744073709551615-18446744073709551615").is_err()
        );
    }
}
