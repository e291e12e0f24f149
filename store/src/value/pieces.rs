//! Frees values in pieces, so that a large one holds nothing up.

use super::{StringValue, Value};
use std::iter;

/// Frees something: a small part with each call of `next`.
pub(crate) type Pieces = Box<dyn Iterator<Item = ()> + Send>;

/// A value of more pieces is large.
const MOST_PIECES: usize = 64;
/// So is a string of more bytes: the system takes time to take back its memory.
const MOST_BYTES: usize = 1 << 20;

impl Value {
    /// Returns true if it takes long to free. It takes about constant time.
    pub(crate) fn is_large(&self) -> bool {
        match self {
            Self::String(StringValue::Growing(bytes)) => bytes.capacity() > MOST_BYTES,
            Self::String(_) => false,
            Self::List(list) => list.pieces() > MOST_PIECES,
            Self::Hash(hash) => hash.pieces() > MOST_PIECES,
            Self::Set(set) => set.pieces() > MOST_PIECES,
            Self::SortedSet(set) => set.pieces() > MOST_PIECES,
            Self::Stream(stream) => stream.pieces() > MOST_PIECES,
        }
    }

    /// Frees the value.
    pub(crate) fn into_pieces(self) -> Pieces {
        match self {
            Self::String(string) => Box::new(iter::once_with(move || drop(string))),
            Self::List(list) => Box::new(list.into_pieces()),
            Self::Hash(hash) => Box::new(hash.into_pieces()),
            Self::Set(set) => Box::new(set.into_pieces()),
            Self::SortedSet(set) => Box::new(set.into_pieces()),
            Self::Stream(stream) => Box::new(stream.into_pieces()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{CompactLimits, End, Hash, List, Set, SortedSet, Stream, StreamId};

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
    fn large_values_consist_of_many_pieces() {
        assert!(values(5).iter().all(|value| !value.is_large()));
        for value in values(3000) {
            assert!(value.is_large(), "{value:?}");
            assert!(value.into_pieces().count() > MOST_PIECES);
        }
    }
}
