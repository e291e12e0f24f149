//! The reach of a node: where its sub-tree lies.

use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Disjoint intervals of granules, ascending, with a gap between any two.
pub(super) type Intervals = SmallVec<[Range<u32>; 2]>;

/// The granules that a node and its descendants lie in, and possibly others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach(Option<Box<Intervals>>);

impl Reach {
    /// Only the node's own granule.
    pub const OWN: Self = Self(None);

    /// Creates the reach of a node that lies in granule `own`.
    pub fn new(own: u32, intervals: &[Range<u32>]) -> Self {
        match intervals {
            [only] if *only == (own..own + 1) => Self::OWN,
            _ => Self(Some(Box::new(intervals.into()))),
        }
    }

    /// Returns the intervals, for a node that lies in granule `own`.
    pub fn intervals(&self, own: u32) -> Intervals {
        match &self.0 {
            Some(intervals) => (**intervals).clone(),
            None => smallvec![own..own + 1],
        }
    }
}

/// Returns true if `outer` covers all of `inner`.
pub(super) fn covers(outer: &[Range<u32>], inner: &[Range<u32>]) -> bool {
    inner.iter().all(|inner| {
        let at = outer.partition_point(|outer| outer.end < inner.end);
        outer.get(at).is_some_and(|outer| outer.start <= inner.start)
    })
}

/// Merges intervals until at most `max_intervals` are left, at the smallest gaps. (Splitting at the
/// largest gaps is the idea of NumLock: Kalikar, Nasre, "NumLock: Towards Optimal Multi-Granularity
/// Locking in Hierarchies", ICPP 2018.)
pub(super) fn merge_intervals(intervals: &mut Vec<Range<u32>>, max_intervals: usize) {
    intervals.sort_unstable_by_key(|interval| interval.start);
    intervals.dedup_by(|next, last| {
        let meets = next.start <= last.end;
        if meets {
            last.end = if planted!("nested-interval-cuts") { next.end } else { last.end.max(next.end) };
        }
        meets
    });
    if intervals.len() <= max_intervals {
        return;
    }
    let mut gaps: Vec<(u32, usize)> =
        (1..intervals.len()).map(|at| (intervals[at].start - intervals[at - 1].end, at)).collect();
    gaps.sort_unstable_by(|a, b| b.cmp(a));
    let mut cuts: Vec<usize> = gaps[..max_intervals - 1].iter().map(|gap| gap.1).collect();
    cuts.sort_unstable();
    cuts.push(intervals.len());
    let mut first = 0;
    let parts = cuts.into_iter().map(|cut| {
        let from = std::mem::replace(&mut first, cut);
        intervals[from].start..intervals[cut - 1].end
    });
    *intervals = parts.collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn intervals() -> impl Strategy<Value = Vec<Range<u32>>> {
        prop::collection::vec((0u32..60, 1u32..6).prop_map(|(start, length)| start..start + length), 1..12)
    }

    proptest! {
        /// Merged intervals cover what they were made of, with as few other granules as possible.
        #[test]
        fn intervals_are_merged_at_the_smallest_gaps(parts in intervals(), max_intervals in 1usize..6) {
            let mut whole = parts.clone();
            merge_intervals(&mut whole, max_intervals);
            prop_assert!(whole.len() <= max_intervals);
            prop_assert!(whole.windows(2).all(|two| two[0].end < two[1].start));
            prop_assert!(covers(&whole, &parts));
            let mut all = parts.clone();
            merge_intervals(&mut all, usize::MAX);
            let used: u32 = all.iter().map(|part| part.len() as u32).sum();
            let mut gaps: Vec<u32> = all.windows(2).map(|two| two[1].start - two[0].end).collect();
            gaps.sort_unstable();
            gaps.truncate(all.len().saturating_sub(max_intervals));
            let covered = whole.iter().map(|part| part.len() as u32).sum::<u32>();
            prop_assert_eq!(covered, used + gaps.iter().sum::<u32>());
        }

        #[test]
        fn covers_agrees_with_membership(outer in intervals(), inner in intervals()) {
            let (mut outer, mut inner) = (outer, inner);
            merge_intervals(&mut outer, 12);
            merge_intervals(&mut inner, 12);
            let is_in = |at: u32| outer.iter().any(|interval| interval.contains(&at));
            prop_assert_eq!(covers(&outer, &inner), inner.iter().flat_map(Clone::clone).all(is_in));
        }
    }

    #[test]
    fn an_interval_within_another_one_changes_nothing() {
        let mut intervals = vec![4..6, 2..9, 12..13];
        merge_intervals(&mut intervals, 4);
        assert_eq!(intervals, [2..9, 12..13]);
    }

    #[test]
    fn a_single_granule_is_stored_without_intervals() {
        assert_eq!(Reach::new(3, std::slice::from_ref(&(3..4))), Reach::OWN);
        assert_eq!(Reach::OWN.intervals(7).into_iter().flatten().collect::<Vec<_>>(), [7]);
        let wide = Reach::new(3, &[3..5, 9..10]);
        assert_eq!(wide.intervals(3)[..], [3..5, 9..10]);
    }
}
