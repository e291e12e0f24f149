//! Single values, as DUMP returns them and RESTORE takes them: the type, the value, the version in
//! two bytes, and a checksum of all that.

use super::checksum::checksum;
use super::codes::{NEWEST_VERSION, VERSION};
use super::decode::decode;
use super::encode::{Sink, put_value, type_code};
use super::input::{Bytes, Input};
use super::{RdbError, RdbErrorKind};
use crate::value::{CompactLimits, Value, ValueRef};

/// Bytes after the value of a dump.
pub(crate) const FOOTER: usize = 10;

/// Returns a value in the form of DUMP.
///
/// ```
/// use xtasking_store::rdb;
/// use xtasking_store::value::{CompactLimits, StringValue, Value, ValueRef};
///
/// let dump = rdb::dump(&Value::String(StringValue::new(b"10")));
/// assert_eq!(dump[..5], [0, 0xc0, 10, 10, 0]);
/// let value = rdb::restore(&dump, &CompactLimits::default())?;
/// assert_eq!(ValueRef::from(&value).encoding(), "int");
/// # Ok::<(), rdb::RdbError>(())
/// ```
pub fn dump<'v>(value: impl Into<ValueRef<'v>>) -> Vec<u8> {
    let value = value.into();
    let mut bytes = vec![type_code(value)];
    put_value(&mut bytes, value);
    bytes.put(&VERSION.to_le_bytes());
    let checksum = checksum(&bytes);
    bytes.put(&checksum.to_le_bytes());
    bytes
}

/// Returns the value of a dump. It is compact up to these limits.
///
/// # Errors
///
/// [`RdbErrorKind::Version`] or [`RdbErrorKind::Checksum`] if the footer is wrong, and others if
/// the value is malformed, is a collection without elements, or has a type that the store does not
/// have.
pub fn restore(dump: &[u8], limits: &CompactLimits) -> Result<Value, RdbError> {
    let length = dump.len().checked_sub(FOOTER).ok_or(RdbError::new(0, RdbErrorKind::Truncated))?;
    let mut footer = Input::new(&dump[length..], length as u64);
    let version = u16::from_le_bytes(footer.array()?);
    if version > NEWEST_VERSION {
        return Err(RdbError::new(length as u64, RdbErrorKind::Version(version.into())));
    }
    let stored = u64::from_le_bytes(footer.array()?);
    let computed = checksum(&dump[..length + 2]);
    if stored != computed {
        return Err(RdbError::new(length as u64, RdbErrorKind::Checksum { computed, stored }));
    }
    let mut input = Input::new(&dump[..length], 0);
    let code = input.byte()?;
    let value = decode(code, &mut input, limits)?;
    value.ok_or_else(|| input.malformed("a collection has no elements"))
}
