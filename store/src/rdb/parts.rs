//! Records of large values, which are encoded in parts.

use super::encode::{put_count, put_head, put_string};
use super::streams::{put_block, put_stream_tail};
use crate::value::{StreamId, StringRef, ValueRef};

/// Values of more bytes than this are encoded in parts.
const LEAST_BYTES: usize = 128 << 10;

/// A record under way. Its value stays as it is until the last part.
#[derive(Debug)]
pub(crate) struct PartialRecord {
    chunks: Vec<Vec<u8>>,
    /// The bytes of all parts.
    bytes: usize,
    /// The elements that are encoded; of a string the bytes, of a stream the blocks.
    done: usize,
    /// The last block, if it is a stream.
    last_block: Option<StreamId>,
}

/// Returns true if a value takes long to encode, and can be encoded in parts.
pub(crate) fn takes_parts(value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::String(string) => string.len() > LEAST_BYTES,
        other => other.has_many_pieces() && other.bytes() > LEAST_BYTES,
    }
}

impl PartialRecord {
    /// Begins a record, by the key and the expiry.
    pub(crate) fn new(key: &[u8], value: ValueRef<'_>, expires_at: Option<u64>) -> Self {
        let mut head = Vec::new();
        put_head(&mut head, key, value, expires_at);
        put_count(&mut head, count(value));
        Self { chunks: vec![head], bytes: 0, done: 0, last_block: None }
    }

    /// Encodes about this many bytes more. Returns how many there were, and true if these were the
    /// last ones.
    pub(crate) fn go_on(&mut self, value: ValueRef<'_>, most: usize) -> (usize, bool) {
        let mut chunk = Vec::with_capacity(most.min(LEAST_BYTES) + most.min(LEAST_BYTES) / 4);
        let done = self.done;
        self.done += match value {
            ValueRef::String(StringRef::Fixed(bytes)) => put_bytes(&mut chunk, most, &bytes[done..]),
            ValueRef::String(StringRef::Growing(bytes)) => put_bytes(&mut chunk, most, &bytes[done..]),
            // It has few bytes.
            ValueRef::String(StringRef::Integer(_)) => 0,
            ValueRef::List(list) => {
                put_some(&mut chunk, most, list.range(done..list.len()), |chunk, element| {
                    put_string(chunk, element);
                })
            }
            ValueRef::Hash(hash) => {
                let pairs = (done..hash.len()).filter_map(|index| hash.get_index(index));
                put_some(&mut chunk, most, pairs, |chunk, (field, value)| {
                    put_string(chunk, field);
                    put_string(chunk, value);
                })
            }
            ValueRef::Set(set) => {
                let members = (done..set.len()).filter_map(|index| set.get_index(index));
                put_some(&mut chunk, most, members, |chunk, member| put_string(chunk, &member))
            }
            ValueRef::SortedSet(set) => {
                let members = set.range(0..set.len() - done).rev();
                put_some(&mut chunk, most, members, |chunk, (member, score)| {
                    put_string(chunk, member);
                    chunk.extend_from_slice(&score.to_le_bytes());
                })
            }
            ValueRef::Stream(stream) => {
                let blocks = stream.log().blocks_after(self.last_block);
                put_some(&mut chunk, most, blocks, |chunk, (id, block)| {
                    put_block(chunk, id, block);
                    self.last_block = Some(id);
                })
            }
        };
        let is_last = self.done == count(value);
        if let (ValueRef::Stream(stream), true) = (value, is_last) {
            put_stream_tail(&mut chunk, stream);
        }
        let bytes = chunk.len();
        self.bytes += bytes;
        self.chunks.push(chunk);
        (bytes, is_last)
    }

    /// Returns the bytes of all parts so far.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of the record, which is complete.
    pub(crate) fn into_chunks(self) -> Vec<Vec<u8>> {
        self.chunks
    }
}

/// Returns the number of elements; of a string the bytes, of a stream the blocks.
fn count(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::String(string) => string.len(),
        ValueRef::List(list) => list.len(),
        ValueRef::Hash(hash) => hash.len(),
        ValueRef::Set(set) => set.len(),
        ValueRef::SortedSet(set) => set.len(),
        ValueRef::Stream(stream) => stream.log().blocks().len(),
    }
}

fn put_bytes(chunk: &mut Vec<u8>, most: usize, rest: &[u8]) -> usize {
    let count = rest.len().min(most);
    chunk.extend_from_slice(&rest[..count]);
    count
}

/// Encodes elements until there are this many bytes. Returns their number.
fn put_some<T>(
    chunk: &mut Vec<u8>,
    most: usize,
    elements: impl Iterator<Item = T>,
    mut put: impl FnMut(&mut Vec<u8>, T),
) -> usize {
    let mut count = 0;
    for element in elements {
        put(chunk, element);
        count += 1;
        if chunk.len() >= most {
            break;
        }
    }
    count
}
