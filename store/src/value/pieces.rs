//! Frees values in pieces, so that a large one holds nothing up.

use super::{StringValue, Value, ValueRef};
use std::{fmt, iter};

/// Frees something: a small part with each call of `next`.
pub(crate) type Pieces = Box<dyn Iterator<Item = ()> + Send>;

/// A value of more pieces is large.
const MOST_PIECES: usize = 64;
/// So is a string of more bytes. Allocators keep the memory of smaller ones, and freeing one of
/// those takes less than the task that would do it later. They give that of larger ones back to the
/// system, page by page.
pub(crate) const LARGE_BYTES: usize = 128 << 10;
/// It takes about as long to give this many bytes back as to free a piece.
const BYTES_OF_PIECE: usize = 1024;
/// The most pieces that a string counts as: a task frees one that is longer, and nothing else.
const PIECES_OF_STRING: usize = 2048;

impl ValueRef<'_> {
    /// Returns true if it is a collection of many parts. It takes about constant time.
    pub(crate) fn has_many_pieces(self) -> bool {
        let pieces = match self {
            Self::String(_) => 1,
            Self::List(list) => list.pieces(),
            Self::Hash(hash) => hash.pieces(),
            Self::Set(set) => set.pieces(),
            Self::SortedSet(set) => set.pieces(),
            Self::Stream(stream) => stream.pieces(),
        };
        pieces > MOST_PIECES
    }
}

impl Value {
    /// Returns true if it takes long to free. It takes about constant time.
    pub(crate) fn is_large(&self) -> bool {
        match self {
            Self::String(StringValue::Growing(bytes)) => bytes.capacity() > LARGE_BYTES,
            Self::String(StringValue::Fixed(bytes)) => bytes.len() > LARGE_BYTES,
            Self::String(StringValue::Integer(_)) => false,
            other => ValueRef::from(other).has_many_pieces(),
        }
    }

    /// Frees the value. The first call of `next` frees a string, which counts as several pieces.
    pub(crate) fn into_pieces(self) -> Pieces {
        match self {
            Self::String(string) => {
                let size = match &string {
                    StringValue::Integer(_) => 0,
                    StringValue::Fixed(bytes) => bytes.len(),
                    StringValue::Growing(bytes) => bytes.capacity(),
                };
                Box::new(pieces_of_block(string, size))
            }
            Self::List(list) => Box::new(list.into_pieces()),
            Self::Hash(hash) => Box::new(hash.into_pieces()),
            Self::Set(set) => Box::new(set.into_pieces()),
            Self::SortedSet(set) => Box::new(set.into_pieces()),
            Self::Stream(stream) => Box::new(stream.into_pieces()),
        }
    }
}

/// Parts that were removed from a value, and that take long to free.
pub(crate) struct Removed {
    bytes: usize,
    pieces: Pieces,
}

impl Removed {
    /// Makes it of parts that take this many bytes. If they are few, they are freed at once.
    pub(crate) fn new<T: Send + 'static>(parts: Vec<T>, bytes: usize) -> Option<Self> {
        Self::is_many(parts.len()).then(|| Self { bytes, pieces: Box::new(parts.into_iter().map(drop)) })
    }

    /// Makes it of all that there was, which takes this many bytes.
    pub(super) fn whole(pieces: impl Iterator<Item = ()> + Send + 'static, bytes: usize) -> Self {
        Self { bytes, pieces: Box::new(pieces) }
    }

    /// Returns true if this many parts take long to free.
    pub(super) fn is_many(parts: usize) -> bool {
        parts > MOST_PIECES && !planted!("parts-freed-in-hold")
    }

    /// Returns how many bytes the parts take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Frees the parts.
    pub(crate) fn into_pieces(self) -> Pieces {
        self.pieces
    }
}

impl fmt::Debug for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Removed").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Frees one block of memory, by the first call of `next`. It counts as one piece, or as more if it
/// has many bytes.
pub(crate) fn pieces_of_block<B: Send>(block: B, bytes: usize) -> impl Iterator<Item = ()> + Send {
    let pieces = (bytes / BYTES_OF_PIECE).clamp(1, PIECES_OF_STRING);
    iter::once_with(move || drop(block)).chain(iter::repeat_n((), pieces - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{CompactLimits, End, Hash, List, Set, SortedSet, Stream, StreamId};
    use std::sync::Arc;

    /// Returns a value of each type, of this many elements.
    fn values(count: u64) -> Vec<Value> {
        let limits = CompactLimits::default();
        let texts = || (0..count).map(|number| format!("{number:0200}").into_bytes());
        let (mut list, mut hash, mut sorted) = (List::new(), Hash::new(), SortedSet::new());
        let mut set = Set::new(b"member", 1, &limits);
        let mut stream = Stream::default();
        for text in texts() {
            list.push(End::Right, &text, &limits);
            hash.set(&text, b"value", &limits);
            set.insert(&text, &limits);
            sorted.insert(&text, 1.0, &limits);
        }
        for number in 1..=count {
            let (id, fields) = (StreamId { ms: number, seq: 0 }, [(&b"field"[..], &[b'v'; 500][..])]);
            stream.log_mut().append(id, fields.into_iter(), &limits).unwrap();
        }
        vec![
            Value::List(Box::new(list)),
            Value::Hash(Box::new(hash)),
            Value::Set(Box::new(set)),
            Value::SortedSet(Box::new(sorted)),
            Value::Stream(Box::new(stream)),
        ]
    }

    #[test]
    fn a_block_is_freed_by_the_first_call_of_next() {
        let block = Arc::new(());
        let mut pieces = pieces_of_block(block.clone(), 5000);
        assert_eq!(Arc::strong_count(&block), 2);
        assert_eq!(pieces.next(), Some(()));
        assert_eq!((Arc::strong_count(&block), pieces.count()), (1, 3));
        assert_eq!(pieces_of_block((), 0).count(), 1);
    }

    #[test]
    fn large_values_consist_of_many_pieces() {
        assert!(values(5).iter().all(|value| !value.is_large()));
        for value in values(3000) {
            assert!(value.is_large(), "{value:?}");
            assert!(value.into_pieces().count() > MOST_PIECES);
        }
    }
}
