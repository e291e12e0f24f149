//! The result of a write.

use crate::key_value::Value;

/// The result of [`Tree::write`](super::Tree::write).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome<V> {
    /// The key was added.
    Inserted,
    /// The value was replaced; this was the old one.
    Replaced(V),
    /// Nothing changed: the key exists and has this value.
    Exists(V),
    /// Nothing changed: the key does not exist.
    Missing,
}

impl<V: Value> WriteOutcome<V> {
    #[inline(always)]
    pub(super) fn from_words(wrote: WriteOutcome<u64>) -> Self {
        match wrote {
            WriteOutcome::Inserted => Self::Inserted,
            WriteOutcome::Replaced(word) => Self::Replaced(V::from_word(word)),
            WriteOutcome::Exists(word) => Self::Exists(V::from_word(word)),
            WriteOutcome::Missing => Self::Missing,
        }
    }

    /// The old value, if it was replaced.
    pub fn replaced(self) -> Option<V> {
        match self {
            Self::Replaced(old) => Some(old),
            _ => None,
        }
    }

    /// Returns true if the key was added.
    pub fn is_inserted(&self) -> bool {
        matches!(self, Self::Inserted)
    }
}
