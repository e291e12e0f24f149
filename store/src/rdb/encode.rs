//! Values to bytes.
//!
//! Of the encodings of a type the plain one is written, which all versions of Redis read. Redis
//! then makes a value compact by its own limits.

use super::codes::{
    EXPIRY_MS, HASH, INTEGER_8, INTEGER_16, INTEGER_32, LENGTH_32, LENGTH_64, LIST, SET, SORTED_SET,
    STREAM_2, STRING,
};
use super::streams::put_stream;
use crate::resp::parse_integer;
use crate::value::{StringRef, ValueRef};

/// The longest text of an integer of 32 bits.
const LONGEST_INTEGER: usize = 11;
/// The first byte of what stands in place of a length, without its code.
const CODE: u8 = 0xc0;

/// Takes bytes.
pub(crate) trait Sink {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Returns the number of a value's type.
pub(super) fn type_code(value: ValueRef<'_>) -> u8 {
    match value {
        ValueRef::String(_) => STRING,
        ValueRef::List(_) => LIST,
        ValueRef::Hash(_) => HASH,
        ValueRef::Set(_) => SET,
        ValueRef::SortedSet(_) => SORTED_SET,
        ValueRef::Stream(_) => STREAM_2,
    }
}

/// Writes a key with its value and expiry.
pub(crate) fn put_record(sink: &mut impl Sink, key: &[u8], value: ValueRef<'_>, expires_at: Option<u64>) {
    put_head(sink, key, value, expires_at);
    put_value(sink, value);
}

/// Writes what is before the value of a record.
pub(super) fn put_head(sink: &mut impl Sink, key: &[u8], value: ValueRef<'_>, expires_at: Option<u64>) {
    if let Some(at) = expires_at {
        sink.put(&[EXPIRY_MS]);
        // Redis has a signed time.
        sink.put(&i64::try_from(at).unwrap_or(i64::MAX).to_le_bytes());
    }
    sink.put(&[type_code(value)]);
    put_string(sink, key);
}

/// Writes a value without its type.
pub(super) fn put_value(sink: &mut impl Sink, value: ValueRef<'_>) {
    match value {
        ValueRef::String(StringRef::Integer(number)) if put_integer(sink, number) => {}
        ValueRef::String(string) => put_string(sink, &string.bytes()),
        ValueRef::List(list) => {
            put_count(sink, list.len());
            list.iter().for_each(|element| put_string(sink, element));
        }
        ValueRef::Hash(hash) => {
            put_count(sink, hash.len());
            for (field, value) in hash.iter() {
                put_string(sink, field);
                put_string(sink, value);
            }
        }
        ValueRef::Set(set) => {
            put_count(sink, set.len());
            set.iter().for_each(|member| put_string(sink, &member));
        }
        ValueRef::SortedSet(set) => {
            put_count(sink, set.len());
            // Redis inserts each member at the head of its list fastest: so the last comes first.
            for (member, score) in set.iter().rev() {
                put_string(sink, member);
                sink.put(&score.to_le_bytes());
            }
        }
        ValueRef::Stream(stream) => put_stream(sink, stream),
    }
}

/// Writes a string: as an integer if it is the text of one.
pub(super) fn put_string(sink: &mut impl Sink, bytes: &[u8]) {
    let integer = (bytes.len() <= LONGEST_INTEGER).then(|| parse_integer(bytes)).flatten();
    if !integer.is_some_and(|integer| put_integer(sink, integer)) {
        put_count(sink, bytes.len());
        sink.put(bytes);
    }
}

/// Writes an integer of up to 32 bits. Returns false if it has more.
fn put_integer(sink: &mut impl Sink, integer: i64) -> bool {
    if let Ok(small) = i8::try_from(integer) {
        sink.put(&[CODE | INTEGER_8]);
        sink.put(&small.to_le_bytes());
    } else if let Ok(small) = i16::try_from(integer) {
        sink.put(&[CODE | INTEGER_16]);
        sink.put(&small.to_le_bytes());
    } else if let Ok(small) = i32::try_from(integer) {
        sink.put(&[CODE | INTEGER_32]);
        sink.put(&small.to_le_bytes());
    } else {
        return false;
    }
    true
}

/// Writes the length of a string, or the number of elements.
pub(super) fn put_count(sink: &mut impl Sink, count: usize) {
    let count = count as u64;
    match count {
        0..0x40 => sink.put(&[count as u8]),
        0x40..0x4000 => sink.put(&[0x40 | (count >> 8) as u8, count as u8]),
        0x4000..=0xffff_ffff => {
            sink.put(&[LENGTH_32]);
            sink.put(&(count as u32).to_be_bytes());
        }
        _ => {
            sink.put(&[LENGTH_64]);
            sink.put(&count.to_be_bytes());
        }
    }
}
