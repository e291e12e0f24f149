//! A key with its value as bytes.

use super::RdbError;
use super::decode::decode;
use super::input::Input;
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
