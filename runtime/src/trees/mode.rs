//! How claims use a gate, and which uses clash.

use core::iter::from_fn;

/// How a claim uses a gate. The first three are only counted; the others are entries in the queue
/// of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reads something below.
    IntendRead = 0,
    /// Writes something below.
    IntendWrite = 1,
    /// Reads the node of the gate alone.
    ReadAlone = 2,
    /// Writes the node of the gate alone.
    WriteAlone = 3,
    /// Reads the node of the gate and all below.
    Read = 4,
    /// Writes the node of the gate and all below.
    Write = 5,
}

/// Number of modes that are counted.
pub(super) const COUNTED: usize = 3;

/// What clashes with each set of modes.
const CLASHES: [Modes; 1 << Mode::ALL.len()] = {
    let mut all = [Modes::NONE; 1 << Mode::ALL.len()];
    let mut set = 1;
    while set < all.len() {
        // The set without its lowest mode came before.
        let lowest = Mode::ALL[set.trailing_zeros() as usize];
        all[set] = all[set & (set - 1)].and(lowest.clashes());
        set += 1;
    }
    all
};

/// A set of modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modes(u8);

impl Mode {
    /// The modes that are only counted.
    pub const COUNTED: [Self; COUNTED] = [Self::IntendRead, Self::IntendWrite, Self::ReadAlone];
    const ALL: [Self; 6] =
        [Self::IntendRead, Self::IntendWrite, Self::ReadAlone, Self::WriteAlone, Self::Read, Self::Write];

    /// Returns the modes that clash with this one.
    pub const fn clashes(self) -> Modes {
        use Mode::{IntendRead, IntendWrite, Read, ReadAlone, Write, WriteAlone};
        match self {
            IntendRead => Modes::of(&[Write]),
            IntendWrite => Modes::of(&[Read, Write]),
            ReadAlone => Modes::of(&[WriteAlone, Write]),
            WriteAlone => Modes::of(&[ReadAlone, WriteAlone, Read, Write]),
            Read => Modes::of(&[IntendWrite, WriteAlone, Write]),
            Write => Modes(0b11_1111),
        }
    }

    /// Returns the intention at the gates above a target.
    pub const fn intention(write: bool) -> Self {
        if write { Self::IntendWrite } else { Self::IntendRead }
    }
}

impl Modes {
    pub const NONE: Self = Self(0);

    pub const fn only(mode: Mode) -> Self {
        Self(1 << mode as u8)
    }

    pub const fn of(modes: &[Mode]) -> Self {
        let (mut set, mut next) = (0, 0);
        while next < modes.len() {
            set |= 1 << modes[next] as u8;
            next += 1;
        }
        Self(set)
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn has(self, mode: Mode) -> bool {
        self.meets(Self::only(mode))
    }

    /// Returns true if a mode is in both sets.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the set without a mode.
    pub const fn without(self, mode: Mode) -> Self {
        Self(self.0 & !Self::only(mode).0)
    }

    /// Returns the counted modes of the set.
    pub const fn counted(self) -> Self {
        Self(self.0 & 0b111)
    }

    pub fn iter(self) -> impl Iterator<Item = Mode> {
        let mut left = self.0;
        from_fn(move || {
            let mode = Mode::ALL.get(left.trailing_zeros() as usize).copied();
            left &= left.wrapping_sub(1);
            mode
        })
    }

    /// Returns the modes that clash with one of the set.
    #[inline(always)]
    pub fn clashes(self) -> Self {
        CLASHES[usize::from(self.0) % CLASHES.len()]
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn clashes_are_mutual() {
        for one in Mode::ALL {
            for other in Mode::ALL {
                assert_eq!(one.clashes().has(other), other.clashes().has(one), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn intentions_never_clash_with_each_other() {
        let intentions = Modes::of(&[Mode::IntendRead, Mode::IntendWrite, Mode::ReadAlone]);
        assert!(!intentions.clashes().meets(intentions));
    }
}
