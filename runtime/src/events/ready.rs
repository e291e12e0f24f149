//! What a source of events is ready for.

use core::fmt;
use core::ops::BitOr;

/// What a source is ready for. A set: a source may be ready for several things.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Ready(u8);

impl Ready {
    /// There is something to read, or a connection to accept.
    pub const READABLE: Self = Self(1);
    /// There is room to write.
    pub const WRITABLE: Self = Self(2);
    /// The other side writes nothing more, or the source has failed. Reading says which.
    pub const CLOSED: Self = Self(4);

    /// Returns true if there may be something to read: also the end, or an error.
    pub fn is_readable(self) -> bool {
        self.0 & (Self::READABLE.0 | Self::CLOSED.0) != 0
    }

    /// Returns true if there may be room to write, or an error.
    pub fn is_writable(self) -> bool {
        self.0 & (Self::WRITABLE.0 | Self::CLOSED.0) != 0
    }

    /// Returns true if the other side writes nothing more, or the source has failed.
    pub fn is_closed(self) -> bool {
        self.0 & Self::CLOSED.0 != 0
    }

    /// Returns true if the source is ready for nothing.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn bits(self) -> u32 {
        self.0.into()
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits as u8 & (Self::READABLE.0 | Self::WRITABLE.0 | Self::CLOSED.0))
    }
}

impl BitOr for Ready {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(Self::READABLE, "readable"), (Self::WRITABLE, "writable"), (Self::CLOSED, "closed")];
        f.debug_set()
            .entries(names.iter().filter(|(ready, _)| self.0 & ready.0 != 0).map(|(_, name)| name))
            .finish()
    }
}

/// Of what a source reports events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interest {
    /// That there is something to read, or a connection to accept.
    Readable,
    /// That there is room to write.
    Writable,
    /// Both.
    Both,
}
