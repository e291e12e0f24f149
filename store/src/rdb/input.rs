//! Reads lengths and strings from bytes in memory.

use super::codes::{COMPRESSED, INTEGER_8, INTEGER_16, INTEGER_32, LENGTH_32, LENGTH_64};
use super::lzf;
use super::{RdbError, RdbErrorKind};
use std::borrow::Cow;

/// A source of bytes.
pub(super) trait Bytes {
    /// Returns the offset of the next byte.
    fn offset(&self) -> u64;

    /// Reads this many bytes.
    fn array<const N: usize>(&mut self) -> Result<[u8; N], RdbError>;

    /// Reads a byte.
    fn byte(&mut self) -> Result<u8, RdbError> {
        self.array().map(|[byte]| byte)
    }

    /// Reads a length, or what stands in its place.
    #[inline]
    fn length_or_code(&mut self) -> Result<Length, RdbError> {
        let first = self.byte()?;
        Ok(match first >> 6 {
            0 => Length::Plain(first.into()),
            1 => Length::Plain(u64::from(first & 0x3f) << 8 | u64::from(self.byte()?)),
            3 => Length::Code(first & 0x3f),
            _ if first == LENGTH_32 => Length::Plain(u32::from_be_bytes(self.array()?).into()),
            _ if first == LENGTH_64 => Length::Plain(u64::from_be_bytes(self.array()?)),
            _ => return Err(RdbError::malformed(self.offset(), "a length begins with an unknown byte")),
        })
    }

    /// Reads a length.
    fn length(&mut self) -> Result<u64, RdbError> {
        match self.length_or_code()? {
            Length::Plain(length) => Ok(length),
            Length::Code(_) => Err(RdbError::malformed(self.offset(), "a string is in place of a length")),
        }
    }
}

/// A source of bytes of which some are passed on as they are.
pub(super) trait Pass: Bytes {
    /// Passes bytes on.
    fn pass(&mut self, count: u64) -> Result<(), RdbError>;

    /// Passes a string on, in its encoding.
    fn pass_string(&mut self) -> Result<(), RdbError> {
        match self.length_or_code()? {
            Length::Plain(length) => self.pass(length),
            Length::Code(INTEGER_8) => self.pass(1),
            Length::Code(INTEGER_16) => self.pass(2),
            Length::Code(INTEGER_32) => self.pass(4),
            Length::Code(COMPRESSED) => {
                let compressed = self.length()?;
                self.length()?;
                self.pass(compressed)
            }
            Length::Code(_) => Err(RdbError::malformed(self.offset(), "a string has an unknown encoding")),
        }
    }
}

/// A length, or what stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Plain(u64),
    /// The string is encoded in this way.
    Code(u8),
}

/// Bytes in memory, and what has been read of them.
#[derive(Clone, Debug)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
    /// The offset of the end.
    end: u64,
}

impl<'a> Input<'a> {
    /// Makes an input of bytes whose first one has this offset.
    pub(super) fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, end: offset.saturating_add(bytes.len() as u64) }
    }

    /// Returns the error that bytes here are not as the format has them.
    pub(super) fn malformed(&self, why: &'static str) -> RdbError {
        RdbError::malformed(self.offset(), why)
    }

    /// Reads a size in four bytes. Returns true if it is the number of bytes that were left.
    pub(super) fn states_own_size(&mut self) -> Result<bool, RdbError> {
        let size = self.left();
        Ok(u32::from_le_bytes(self.array()?) as usize == size)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the number of bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Returns the bytes that are left.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes this many bytes.
    #[inline]
    pub(super) fn take(&mut self, count: u64) -> Result<&'a [u8], RdbError> {
        let split = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let (taken, rest) = split.ok_or_else(|| RdbError::new(self.end, RdbErrorKind::Truncated))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads a string if it is encoded as an integer.
    pub(super) fn integer(&mut self) -> Result<Option<i64>, RdbError> {
        let before = self.clone();
        let integer = match self.length_or_code()? {
            Length::Code(INTEGER_8) => i8::from_le_bytes(self.array()?).into(),
            Length::Code(INTEGER_16) => i16::from_le_bytes(self.array()?).into(),
            Length::Code(INTEGER_32) => i32::from_le_bytes(self.array()?),
            _ => {
                *self = before;
                return Ok(None);
            }
        };
        Ok(Some(integer.into()))
    }

    /// Reads a string in any of its encodings.
    pub(super) fn string(&mut self) -> Result<Cow<'a, [u8]>, RdbError> {
        if let Some(integer) = self.integer()? {
            return Ok(text(integer));
        }
        match self.length_or_code()? {
            Length::Plain(length) => self.take(length).map(Cow::Borrowed),
            Length::Code(COMPRESSED) => self.compressed().map(Cow::Owned),
            Length::Code(_) => Err(self.malformed("a string has an unknown encoding")),
        }
    }

    fn compressed(&mut self) -> Result<Vec<u8>, RdbError> {
        let (compressed, length) = (self.length()?, self.length()?);
        let bytes = self.take(compressed)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        lzf::decompress(bytes, length).ok_or_else(|| self.malformed("a compressed string is malformed"))
    }
}

/// Returns the text of an integer.
pub(super) fn text(integer: i64) -> Cow<'static, [u8]> {
    Cow::Owned(integer.to_string().into_bytes())
}

impl Bytes for Input<'_> {
    fn offset(&self) -> u64 {
        self.end - self.rest.len() as u64
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], RdbError> {
        let split = self.rest.split_first_chunk();
        let (taken, rest) = split.ok_or_else(|| RdbError::new(self.end, RdbErrorKind::Truncated))?;
        self.rest = rest;
        Ok(*taken)
    }
}

impl Pass for Input<'_> {
    #[inline]
    fn pass(&mut self, count: u64) -> Result<(), RdbError> {
        self.take(count).map(drop)
    }
}
