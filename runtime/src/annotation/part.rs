//! The part of an object that a task will touch.

use core::fmt;

/// Size of a cache line in bytes.
pub const CACHE_LINE: usize = 64;

/// A run of cache lines of an object, counted from the line with the object's header.
///
/// Line 0 has the header (16 bytes) and the first 48 bytes of the value; line 1 continues from
/// there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The first line, and in the upper half the number of lines: parts are compared as one word.
    bits: u32,
}

impl Part {
    /// No lines: nothing is prefetched.
    pub const NONE: Self = Self::lines(0, 0);
    /// The object's first line: its header and the first 48 bytes of its value.
    pub const HEAD: Self = Self::lines(0, 1);

    /// Returns a part of `lines` cache lines, starting at line `first`.
    #[inline(always)]
    pub const fn lines(first: u16, lines: u16) -> Self {
        Self { bits: first as u32 | (lines as u32) << 16 }
    }

    /// Returns the index of the first line.
    #[inline(always)]
    pub const fn first(self) -> usize {
        self.bits as u16 as usize
    }

    /// Returns the number of lines.
    #[inline(always)]
    pub const fn count(self) -> usize {
        (self.bits >> 16) as usize
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("first", &self.first()).field("lines", &self.count()).finish()
    }
}
