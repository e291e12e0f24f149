//! The IDs of entries.

use std::fmt;

/// The ID of an entry: a time, and a number among the entries of that time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The time in ms since 1970.
    pub ms: u64,
    /// The number.
    pub seq: u64,
}

impl StreamId {
    /// The least ID, which no entry has.
    pub const MIN: Self = Self { ms: 0, seq: 0 };
    /// The greatest ID.
    pub const MAX: Self = Self { ms: u64::MAX, seq: u64::MAX };

    /// Returns the ID after it; `None` after the greatest.
    pub fn next(self) -> Option<Self> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self { ms: self.ms.checked_add(1)?, seq: 0 }),
        }
    }

    /// Returns the ID before it; `None` before the least.
    pub fn previous(self) -> Option<Self> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self { ms: self.ms.checked_sub(1)?, seq: u64::MAX }),
        }
    }

    /// Returns it as bytes whose order is its own: as Redis' files have it.
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.ms) << 64 | u128::from(self.seq)).to_be_bytes()
    }

    /// Returns the ID of such bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let number = u128::from_be_bytes(bytes);
        Self { ms: (number >> 64) as u64, seq: number as u64 }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}
