//! Cache lines that a running task will touch.

use super::CACHE_LINE;
use crate::object::prefetch;

/// Cache lines that a task will touch soon, anywhere in memory.
///
/// An annotation for memory behind an object: a task names a [`Part`](crate::Part) of an object,
/// but cannot name what the object points to. It is a hint: the memory may be gone meanwhile. The
/// default is no lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    address: usize,
    count: u8,
}

/// Further lines are left to the processor, which notices a sequence.
const MOST_LINES: usize = 4;

impl Lines {
    /// Returns the lines of a value: the first 4 at most.
    pub fn of<T: ?Sized>(value: &T) -> Self {
        Self::from_start_of(value, size_of_val(value))
    }

    /// Returns the lines of this many bytes from the start of a value on, for memory whose size is
    /// not known before it is read. The first 4 at most.
    #[inline]
    pub fn from_start_of<T: ?Sized>(value: &T, bytes: usize) -> Self {
        let address = core::ptr::from_ref(value).addr();
        let lines = (address % CACHE_LINE).saturating_add(bytes).div_ceil(CACHE_LINE);
        Self { address, count: lines.min(MOST_LINES) as u8 }
    }

    /// Begins to fetch the lines. It does not wait for them: the task does something else before it
    /// touches them.
    ///
    /// ```
    /// use xtasking::{Runtime, primitive::SpinLatch, task::Lines};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let rows = |first| rt.plain((first..first + 1000).collect::<Vec<u64>>()).pin(SpinLatch);
    /// let tables: Vec<_> = (0..16).map(|table| rows(table * 1000).build()).collect();
    /// let sum = rt.task(()).submit(move |(), cx| {
    ///     // First all lines, so that the processor waits for them at the same time.
    ///     for table in &tables {
    ///         _ = cx.task(table.write()).try_call(|rows| Lines::of(&rows[500]).fetch());
    ///     }
    ///     let mut sum = 0;
    ///     for table in &tables {
    ///         sum += cx.task(table.write()).try_call(|rows| rows[500]).unwrap_or(0);
    ///     }
    ///     sum
    /// });
    /// assert_eq!(sum.join()?, (0..16).map(|table| table * 1000 + 500).sum());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn fetch(self) {
        for line in 0..usize::from(self.count) {
            prefetch((self.address + line * CACHE_LINE) as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_are_those_of_the_bytes() {
        let bytes = [0u8; 1000];
        let count = |from: usize, len: usize| Lines::of(&bytes[from..from + len]).count;
        let start = core::ptr::from_ref(&bytes).addr() % 64;
        let from = (64 - start) % 64;
        assert_eq!([count(from, 0), count(from, 1), count(from, 64), count(from, 65)], [0, 1, 1, 2]);
        assert_eq!([count(from + 63, 1), count(from + 63, 2), count(from, 900)], [1, 2, 4]);
        assert_eq!(Lines::default().count, 0);
    }
}
