//! The result of a write.

/// The result of [`Tree::write`](crate::Tree::write) and [`HashMap::write`](crate::HashMap::write).
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

impl<V> WriteOutcome<V> {
    /// Converts the value.
    #[inline(always)]
    pub(crate) fn map<R>(self, convert: impl FnOnce(V) -> R) -> WriteOutcome<R> {
        match self {
            Self::Inserted => WriteOutcome::Inserted,
            Self::Replaced(value) => WriteOutcome::Replaced(convert(value)),
            Self::Exists(value) => WriteOutcome::Exists(convert(value)),
            Self::Missing => WriteOutcome::Missing,
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
