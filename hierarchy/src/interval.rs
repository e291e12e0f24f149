//! Intervals.

/// All from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval<T> {
    /// The least.
    pub low: T,
    /// The greatest, which is no less.
    pub high: T,
}

impl<T: Ord + Copy> Interval<T> {
    /// Whether something is in both.
    pub fn overlaps(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Whether all of `other` is in it.
    pub fn covers(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// The narrowest interval that covers both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::Interval;

    #[test]
    fn both_ends_belong_to_an_interval() {
        let [a, b, c] = [(1, 4), (4, 6), (5, 6)].map(|(low, high)| Interval { low, high });
        assert!(a.overlaps(b) && b.overlaps(a) && !a.overlaps(c) && !c.overlaps(a));
        assert!(b.covers(c) && b.covers(b) && !c.covers(b));
        assert_eq!(a.hull(c), Interval { low: 1, high: 6 });
    }
}
