//! Ids of sets, and the errors of a wait.

use crate::task::JoinError;
use core::fmt;
use slotmap::{DefaultKey, Key, KeyData};

/// Identifies a set: plain data that can be stored and sent anywhere.
///
/// An id is good for one wait; every later one returns [`SetError::Stale`]. (Slots are reused:
/// after 2³¹ sets in one slot an old id may name a new set.) It is meaningless to another
/// [`Managed`](super::Managed).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub(super) DefaultKey);

impl SetId {
    /// Returns the id as a number.
    pub fn to_bits(self) -> u64 {
        self.0.data().as_ffi()
    }

    /// Returns the id for a number. An invented number gives an id that is stale, or names some
    /// set.
    pub fn from_bits(bits: u64) -> Self {
        Self(KeyData::from_ffi(bits).into())
    }
}

impl fmt::Debug for SetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetId({:#x})", self.to_bits())
    }
}

/// Why a wait has not seen all functions of a set succeed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetError {
    /// The id names no set: it was waited for or forgotten, or another thread is waiting for it.
    Stale,
    /// All functions have begun, but some still run, and the caller must not wait for them: it is a
    /// task of the same runtime, or a function of that set. The id stays valid.
    WouldBlock,
    /// All functions are over, and this is the first failure. After [`JoinError::OutOfMemory`] or
    /// [`JoinError::Cancelled`], functions that had not begun were dropped.
    Failed(JoinError),
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale => f.write_str("no set with this id can be waited for"),
            Self::WouldBlock => {
                f.write_str("part of the set is still running, and this thread must not wait for it")
            }
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SetError {}
