//! Strings, in the three encodings that OBJECT ENCODING tells apart.

use crate::resp::{Reply, parse_integer};
use std::borrow::Cow;

/// The longest string that Redis embeds into its object.
const LONGEST_EMBEDDED: usize = 44;
/// The longest text that may be an integer.
const LONGEST_INTEGER: usize = 20;

/// A string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StringValue {
    /// The text of an integer.
    Integer(i64),
    /// Bytes that are replaced as a whole.
    Fixed(Box<[u8]>),
    /// Bytes that were changed in place, and may be again.
    Growing(Vec<u8>),
}

/// A string, to be read. A copy is as good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringRef<'v> {
    /// The text of an integer.
    Integer(i64),
    /// Bytes that are replaced as a whole.
    Fixed(&'v [u8]),
    /// Bytes that were changed in place, and may be again.
    Growing(&'v Vec<u8>),
}

impl<'v> From<&'v StringValue> for StringRef<'v> {
    fn from(value: &'v StringValue) -> Self {
        match value {
            StringValue::Integer(number) => Self::Integer(*number),
            StringValue::Fixed(bytes) => Self::Fixed(bytes),
            StringValue::Growing(bytes) => Self::Growing(bytes),
        }
    }
}

impl StringValue {
    /// Makes a string as SET does: integers become numbers.
    pub fn new(bytes: &[u8]) -> Self {
        Self::parse(bytes).map_or_else(|| Self::fixed(bytes), Self::Integer)
    }

    /// Returns the integer whose text this is.
    #[inline]
    pub(crate) fn parse(text: &[u8]) -> Option<i64> {
        if text.len() <= LONGEST_INTEGER { parse_integer(text) } else { None }
    }

    /// Makes a string that is not looked at for a number.
    pub fn fixed(bytes: impl Into<Box<[u8]>>) -> Self {
        Self::Fixed(bytes.into())
    }

    /// Returns the bytes, to be changed in place.
    pub fn make_growing(&mut self) -> &mut Vec<u8> {
        if !matches!(self, Self::Growing(_)) {
            let bytes = match std::mem::replace(self, Self::Integer(0)) {
                Self::Integer(number) => number.to_string().into_bytes(),
                Self::Fixed(bytes) => bytes.into_vec(),
                Self::Growing(bytes) => bytes,
            };
            *self = Self::Growing(bytes);
        }
        match self {
            Self::Growing(bytes) => bytes,
            _ => unreachable!("it was made so above"),
        }
    }
}

impl<'v> StringRef<'v> {
    /// Returns the bytes.
    pub fn bytes(self) -> Cow<'v, [u8]> {
        match self {
            Self::Integer(number) => Cow::Owned(number.to_string().into_bytes()),
            Self::Fixed(bytes) => Cow::Borrowed(bytes),
            Self::Growing(bytes) => Cow::Borrowed(bytes),
        }
    }

    /// Writes it as a bulk string.
    #[inline]
    pub fn write_to(self, reply: &mut Reply) {
        match self {
            Self::Integer(number) => reply.bulk_integer(number),
            Self::Fixed(bytes) => reply.bulk(bytes),
            Self::Growing(bytes) => reply.bulk(bytes),
        }
    }

    /// Returns the number of bytes.
    pub fn len(self) -> usize {
        match self {
            Self::Integer(number) => {
                let digits = number.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1);
                digits + usize::from(number < 0)
            }
            Self::Fixed(bytes) => bytes.len(),
            Self::Growing(bytes) => bytes.len(),
        }
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the integer whose text this is.
    pub fn integer(self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(number),
            other => parse_integer(&other.bytes()),
        }
    }

    /// Returns the name that OBJECT ENCODING gives.
    pub fn encoding(self) -> &'static str {
        match self {
            Self::Integer(_) => "int",
            Self::Fixed(bytes) if bytes.len() <= LONGEST_EMBEDDED => "embstr",
            _ => "raw",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{StringRef, StringValue};

    #[test]
    fn lengths_are_those_of_the_texts() {
        for number in [0, 1, 9, 10, -1, -10, 99, 100, i64::MAX, i64::MIN] {
            assert_eq!(StringRef::Integer(number).len(), number.to_string().len(), "{number}");
        }
    }

    #[test]
    fn encodings_are_those_of_redis() {
        let encoding = |bytes: &[u8]| StringRef::from(&StringValue::new(bytes)).encoding();
        assert_eq!([encoding(b"12"), encoding(b"012")], ["int", "embstr"]);
        assert_eq!([encoding(&[b'x'; 44]), encoding(&[b'x'; 45])], ["embstr", "raw"]);
        let mut value = StringValue::new(b"12");
        value.make_growing().push(b'3');
        let value = StringRef::from(&value);
        assert_eq!((value.encoding(), value.integer()), ("raw", Some(123)));
    }
}
