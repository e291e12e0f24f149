//! How work is divided.

/// A way to divide work into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A scope that spawns all pieces.
    Scope,
    /// Joins of half of the pieces with the other half.
    Halves,
    /// Joins of all other pieces with one.
    Left,
    /// Joins of one piece with all others.
    Right,
}

impl Shape {
    pub(super) const ALL: [Self; 4] = [Self::Scope, Self::Halves, Self::Left, Self::Right];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::Halves => "halves",
            Self::Left => "left-leaning joins",
            Self::Right => "right-leaning joins",
        }
    }

    /// Returns how many of several pieces are in the first half of a join.
    pub(super) fn first_half(self, pieces: u32) -> u32 {
        match self {
            Self::Scope | Self::Halves => pieces / 2,
            Self::Left => pieces - 1,
            Self::Right => 1,
        }
    }
}
