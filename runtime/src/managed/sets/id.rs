//! Ids of sets, and the errors of a wait.

use super::lane::LANES;
use crate::task::JoinError;
use core::fmt;

/// Identifies a set: plain data that can be stored and sent anywhere.
///
/// An id is good for one wait; every later one returns [`SetError::Stale`]. (Of ids that were
/// waited for or forgotten, a pool remembers some hundred thousand, and of the older ones only
/// whether all were: then a second wait may return `Ok` at once.) It is meaningless to another
/// [`Managed`](super::Managed).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(u64);

impl SetId {
    pub(super) fn new(lane: usize, position: u64) -> Self {
        Self(position * LANES as u64 + lane as u64)
    }

    pub(super) fn lane(self) -> usize {
        (self.0 % LANES as u64) as usize
    }

    /// Returns the position in the lane.
    pub(super) fn position(self) -> u64 {
        self.0 / LANES as u64
    }

    /// Returns the id as a number.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// Returns the id for a number. An invented number gives an id that is stale, or names some
    /// set.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
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
