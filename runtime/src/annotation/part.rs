//! The part of an object that a task will touch.

/// Size of a cache line in bytes.
pub const LINE: usize = 64;

/// A run of cache lines of an object, counted from the line that holds the object's header.
///
/// Line 0 holds the header (16 bytes) and the first 48 bytes of the value; line 1 goes on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    first: u16,
    lines: u16,
}

impl Part {
    /// Nothing: the task needs nothing fetched.
    pub const NONE: Self = Self { first: 0, lines: 0 };
    /// The object's first line: its header and the first 48 bytes of its value.
    pub const HEAD: Self = Self::lines(0, 1);

    /// `lines` cache lines from line `first`.
    #[inline(always)]
    pub const fn lines(first: u16, lines: u16) -> Self {
        Self { first, lines }
    }

    /// Index of the first line.
    #[inline(always)]
    pub const fn first(self) -> usize {
        self.first as usize
    }

    /// How many lines.
    #[inline(always)]
    pub const fn count(self) -> usize {
        self.lines as usize
    }
}
