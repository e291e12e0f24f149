//! Intervals.

use std::ops::Sub;

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

impl<T: Ord + Copy + Sub<Output = T>> Interval<T> {
    /// No more than `most` intervals, of which those with the smallest holes between them have become one. They are disjoint
    /// and in rising order, as those that are given have to be.
    ///
    /// # Panics
    /// If there are to be no intervals, though some are given.
    pub fn merged(intervals: Vec<Self>, most: usize) -> Vec<Self> {
        if intervals.len() <= most {
            return intervals;
        }
        assert!(most > 0, "no interval covers nothing");
        let hole = |index: usize| intervals[index].low - intervals[index - 1].high;
        let mut cuts: Vec<usize> = (1..intervals.len()).collect();
        cuts.sort_by_key(|&index| std::cmp::Reverse(hole(index)));
        cuts.truncate(most - 1);
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
        /// The holes that are left are as many as may be, and none that is not is larger.
        #[test]
        fn holes_are_chosen_by_size(sizes in prop::collection::vec((1u32..4, 2u32..9), 1..12), most in 1usize..14) {
            let mut at = 0;
            let intervals: Vec<_> = sizes.iter().map(|&(length, hole)| {
                let low = at + hole;
                at = low + length - 1;
                Interval { low, high: at }
            }).collect();
            let left = Interval::merged(intervals.clone(), most);
            prop_assert_eq!(left.len(), most.min(intervals.len()));
            let holes = |intervals: &[Interval<u32>]| {
                intervals.windows(2).map(|two| two[1].low - two[0].high).collect::<Vec<_>>()
            };
            prop_assert!(intervals.iter().all(|inner| left.iter().any(|outer| outer.covers(*inner))));
            let (mut all, mut kept) = (holes(&intervals), holes(&left));
            all.sort_by(|a, b| b.cmp(a));
            kept.sort_by(|a, b| b.cmp(a));
            prop_assert!(all.starts_with(&kept));
        }
    }
}
