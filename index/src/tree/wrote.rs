//! What came of a write.

use crate::fixed::Value;

/// What came of a [`write`](super::Tree::write).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrote<V> {
    /// The key is new.
    Inserted,
    /// The key had this value, and now has the new one.
    Replaced(V),
    /// Nothing changed: the key exists already and has this value.
    Exists(V),
    /// Nothing changed: there is no such key.
    Missing,
}

impl<V: Value> Wrote<V> {
    #[inline(always)]
    pub(super) fn of_word(wrote: Wrote<u64>) -> Self {
        match wrote {
            Wrote::Inserted => Self::Inserted,
            Wrote::Replaced(word) => Self::Replaced(V::from_word(word)),
            Wrote::Exists(word) => Self::Exists(V::from_word(word)),
            Wrote::Missing => Self::Missing,
        }
    }

    /// The value that was replaced.
    pub fn replaced(self) -> Option<V> {
        match self {
            Self::Replaced(old) => Some(old),
            _ => None,
        }
    }

    /// Whether the key is new.
    pub fn is_inserted(&self) -> bool {
        matches!(self, Self::Inserted)
    }
}
