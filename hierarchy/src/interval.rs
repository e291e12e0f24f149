//! Closed intervals.

use std::ops::Sub;

/// All from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval<T> {
    /// The least element.
    pub low: T,
    /// The greatest element, which is not less than `low`.
    pub high: T,
}

impl<T: Ord + Copy> Interval<T> {
    /// Returns true if the intervals have an element in common.
    pub fn overlaps(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Returns true if all of `other` is in it.
    pub fn covers(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// Returns the narrowest interval that covers both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

impl<T: Ord + Copy + Sub<Output = T>> Interval<T> {
    /// Merges intervals until at most `max_intervals` are left, at the smallest gaps. Both the
    /// input and the result are disjoint and ascending.
    ///
    /// # Panics
    /// Panics if `max_intervals` is 0 and there are intervals.
    pub fn merge(intervals: Vec<Self>, max_intervals: usize) -> Vec<Self> {
        if intervals.len() <= max_intervals {
            return intervals;
        }
        assert!(max_intervals > 0, "`max_intervals` must be at least 1");
        let gap = |index: usize| intervals[index].low - intervals[index - 1].high;
        let mut cuts: Vec<usize> = (1..intervals.len()).collect();
        cuts.sort_by_key(|&index| std::cmp::Reverse(gap(index)));
        cuts.truncate(max_intervals - 1);
        cuts.sort_unstable();
        cuts.push(intervals.len());
        let mut first = 0;
        let mut all = |&cut: &usize| {
            let from = std::mem::replace(&mut first, cut);
            Self { low: intervals[from].low, high: intervals[cut - 1].high }
        };
        cuts.iter().map(&mut all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Interval;
    use proptest::prelude::*;

    #[test]
    fn both_ends_belong_to_an_interval() {
        let [a, b, c] = [(1, 4), (4, 6), (5, 6)].map(|(low, high)| Interval { low, high });
        assert!(a.overlaps(b) && b.overlaps(a) && !a.overlaps(c) && !c.overlaps(a));
        assert!(b.covers(c) && b.covers(b) && !c.covers(b));
        assert_eq!(a.hull(c), Interval { low: 1, high: 6 });
    }

    proptest! {
        /// The gaps that are left are the largest ones.
        #[test]
        fn the_largest_gaps_are_left(
            sizes in prop::collection::vec((1u32..4, 2u32..9), 1..12), max_intervals in 1usize..14,
        ) {
            let mut at = 0;
            let intervals: Vec<_> = sizes.iter().map(|&(length, gap)| {
                let low = at + gap;
                at = low + length - 1;
                Interval { low, high: at }
            }).collect();
            let left = Interval::merge(intervals.clone(), max_intervals);
            prop_assert_eq!(left.len(), max_intervals.min(intervals.len()));
            let gaps = |intervals: &[Interval<u32>]| {
                intervals.windows(2).map(|two| two[1].low - two[0].high).collect::<Vec<_>>()
            };
            prop_assert!(intervals.iter().all(|inner| left.iter().any(|outer| outer.covers(*inner))));
            let (mut all, mut kept) = (gaps(&intervals), gaps(&left));
            all.sort_by(|a, b| b.cmp(a));
            kept.sort_by(|a, b| b.cmp(a));
            prop_assert!(all.starts_with(&kept));
        }
    }
}
