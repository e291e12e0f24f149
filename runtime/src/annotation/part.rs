//! The part of an object that a task will touch.

/// Size of a cache line in bytes.
pub const CACHE_LINE: usize = 64;

/// A run of cache lines of an object, counted from the line with the object's header.
///
/// Line 0 has the header (16 bytes) and the first 48 bytes of the value; line 1 continues from
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    first: u16,
    lines: u16,
}

impl Part {
    /// No lines: nothing is prefetched.
    pub const NONE: Self = Self { first: 0, lines: 0 };
    /// The object's first line: its header and the first 48 bytes of its value.
    pub const HEAD: Self = Self::lines(0, 1);

    /// Returns a part of `lines` cache lines, starting at line `first`.
    #[inline(always)]
    pub const fn lines(first: u16, lines: u16) -> Self {
        Self { first, lines }
    }

    /// Returns the index of the first line.
    #[inline(always)]
    pub const fn first(self) -> usize {
        self.first as usize
    }

    /// Returns the number of lines.
    #[inline(always)]
    pub const fn count(self) -> usize {
        self.lines as usize
    }
}
