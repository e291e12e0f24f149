//! What can be divided: ranges and slices.

use core::ops::Range;

/// A sequence of items that can be cut in two.
pub trait Divide: IntoIterator + Sized {
    /// How many items there are.
    fn count(&self) -> usize;

    /// The items before that index, and the rest. The index is at most [`count`](Self::count).
    fn divide(self, at: usize) -> (Self, Self);
}

macro_rules! ranges {
    ($($number:ty, $distance:ty);+) => {$(
        impl Divide for Range<$number> {
            fn count(&self) -> usize {
                // The distance of signed numbers may be more than they can say.
                let distance = (self.end as $distance).wrapping_sub(self.start as $distance);
                // What nobody could count nobody could go through either.
                if self.is_empty() { 0 } else { usize::try_from(distance).unwrap_or(usize::MAX) }
            }

            fn divide(self, at: usize) -> (Self, Self) {
                let middle = self.start.wrapping_add(at as $number);
                (self.start..middle, middle..self.end)
            }
        }
    )+};
}

ranges!(u8, u8; u16, u16; u32, u32; u64, u64; usize, usize; i8, u8; i16, u16; i32, u32; i64, u64; isize, usize);

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
    fn ranges_are_cut_where_they_should() {
        assert_eq!((3..10u32).divide(4), (3..7, 7..10));
        assert_eq!((-100..100i8).count(), 200);
        assert_eq!((-100..100i8).divide(150), (-100..50, 50..100));
        assert_eq!((i64::MIN..i64::MAX).count(), usize::MAX);
        #[allow(clippy::reversed_empty_ranges, reason = "somebody may compute one")]
        let backward = (5..3usize, 5..-5i32);
        assert_eq!((backward.0.count(), backward.1.count()), (0, 0));
    }
}
