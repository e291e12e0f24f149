//! A key with its value as bytes.

use super::RdbError;
use super::codes::STRING;
use super::decode::decode;
use super::input::{Bytes, Input, Length};
use crate::value::{CompactLimits, Value};

/// A key of a file. Its value is still in the form of the file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Record {
    /// The database.
    pub database: u64,
    /// The key.
    pub key: Vec<u8>,
    /// When it expires, in ms since 1970.
    pub expires_at: Option<u64>,
    /// For how many seconds there was no access, if the file says so.
    pub idle_seconds: Option<u64>,
    /// The number of its type.
    pub(crate) code: u8,
    /// The bytes of its value.
    pub(crate) bytes: Vec<u8>,
    /// The offset of the first of them.
    pub(crate) offset: u64,
}

impl Record {
    /// Returns the value; `None` for a collection without elements, which Redis skips too. It is
    /// compact up to these limits.
    ///
    /// # Errors
    ///
    /// If the bytes are malformed.
    pub fn value(&self, limits: &CompactLimits) -> Result<Option<Value>, RdbError> {
        decode_value(self.code, &self.bytes, self.offset, limits)
    }
}

/// A record that need not be copied, see [`Record`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordView<'a> {
    pub(crate) database: u64,
    pub(crate) key: &'a [u8],
    pub(crate) expires_at: Option<u64>,
    pub(crate) idle_seconds: Option<u64>,
    pub(crate) code: u8,
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: u64,
}

impl Record {
    pub(super) fn view(&self) -> RecordView<'_> {
        RecordView {
            database: self.database,
            key: &self.key,
            expires_at: self.expires_at,
            idle_seconds: self.idle_seconds,
            code: self.code,
            bytes: &self.bytes,
            offset: self.offset,
        }
    }
}

/// Returns the text of a value that is a string, if it stands there as it is.
#[inline]
pub(crate) fn plain_text(code: u8, bytes: &[u8]) -> Option<&[u8]> {
    let mut input = Input::new(bytes, 0);
    let length = input.length_or_code().ok().filter(|_| code == STRING)?;
    (length == Length::Plain(input.left() as u64)).then(|| input.rest())
}

/// Returns a value whose bytes begin at an offset of a file.
pub(crate) fn decode_value(
    code: u8,
    bytes: &[u8],
    offset: u64,
    limits: &CompactLimits,
) -> Result<Option<Value>, RdbError> {
    let mut input = Input::new(bytes, offset);
    let value = decode(code, &mut input, limits)?;
    match input.is_empty() {
        true => Ok(value),
        false => Err(input.malformed("bytes follow a value")),
    }
}
