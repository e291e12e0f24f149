//! Sequences that can be divided: ranges and slices.

use core::ops::Range;

/// A sequence of items that can be cut in two.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be divided among workers",
    label = "neither a range of integers nor a slice",
    note = "divide `0..n`, `&items[..]` or `&mut items[..]`, or two of them by `fork::zip`",
    note = "collect another iterator into a `Vec` first, or spawn its items in a scope"
)]
pub trait Divide: IntoIterator + Sized {
    /// Returns the number of items.
    fn count(&self) -> usize;

    /// Returns the items before index `at`, and the rest. `at` is at most [`count`](Self::count).
    fn divide(self, at: usize) -> (Self, Self);
}

macro_rules! ranges {
    ($($number:ty, $distance:ty);+) => {$(
        impl Divide for Range<$number> {
            fn count(&self) -> usize {
                // The length of a signed range may exceed the signed type.
                let distance = (self.end as $distance).wrapping_sub(self.start as $distance);
                // Saturates: no loop could go through more items either.
                if self.is_empty() { 0 } else { usize::try_from(distance).unwrap_or(usize::MAX) }
            }

            fn divide(self, at: usize) -> (Self, Self) {
                let middle = self.start.wrapping_add(at as $number);
                (self.start..middle, middle..self.end)
            }
        }
    )+};
}

ranges!(u8, u8; u16, u16; u32, u32; u64, u64; usize, usize);
ranges!(i8, u8; i16, u16; i32, u32; i64, u64; isize, usize);

impl<T> Divide for &[T] {
    fn count(&self) -> usize {
        self.len()
    }

    fn divide(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl<T> Divide for &mut [T] {
    fn count(&self) -> usize {
        self.len()
    }

    fn divide(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_divided_at_the_index() {
        assert_eq!((3..10u32).divide(4), (3..7, 7..10));
        assert_eq!((-100..100i8).count(), 200);
        assert_eq!((-100..100i8).divide(150), (-100..50, 50..100));
        assert_eq!((i64::MIN..i64::MAX).count(), usize::MAX);
        #[allow(clippy::reversed_empty_ranges, reason = "callers may compute one")]
        let backward = (5..3usize, 5..-5i32);
        assert_eq!((backward.0.count(), backward.1.count()), (0, 0));
    }
}
