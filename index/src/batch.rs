//! Requests of a batch, and the responses to them.

use crate::node::WriteMode;
use crate::write_outcome::WriteOutcome;

/// One operation of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request<K, V> {
    /// Looks up a key.
    Get(K),
    /// Adds an entry or replaces its value, depending on the mode.
    Write(K, V, WriteMode),
    /// Removes an entry.
    Remove(K),
}

/// The result of a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Response<V> {
    /// The value of the key.
    Get(Option<V>),
    /// What the write has done.
    Write(WriteOutcome<V>),
    /// The value of the entry that was removed.
    Remove(Option<V>),
}
