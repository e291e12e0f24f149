//! Where a sub-tree lies.

use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Intervals of granules in rising order, with a hole between any two.
pub(super) type Intervals = SmallVec<[Range<u32>; 2]>;

/// The granules in which a node and all below it lie, and perhaps others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach(Option<Box<Intervals>>);

impl Reach {
    /// No granule but the node's own.
    pub const OWN: Self = Self(None);

    /// Of a node in that granule.
    pub fn new(own: u32, intervals: &[Range<u32>]) -> Self {
        match intervals {
            [only] if *only == (own..own + 1) => Self::OWN,
            _ => Self(Some(Box::new(intervals.into()))),
        }
    }

    /// The intervals, for a node in that granule.
    pub fn intervals(&self, own: u32) -> Intervals {
        match &self.0 {
            Some(intervals) => (**intervals).clone(),
            None => smallvec![own..own + 1],
        }
    }
}

/// Whether all of the second are within the first.
pub(super) fn covers(outer: &[Range<u32>], inner: &[Range<u32>]) -> bool {
    inner.iter().all(|inner| {
        let at = outer.partition_point(|outer| outer.end < inner.end);
        outer.get(at).is_some_and(|outer| outer.start <= inner.start)
    })
}

/// At most that many intervals that cover all of these, with the largest holes left between them. (Splitting at the largest
/// holes is the idea of NumLock: Kalikar, Nasre, "NumLock: Towards Optimal Multi-Granularity Locking in Hierarchies", ICPP
/// 2018.)
pub(super) fn joined(intervals: &mut Vec<Range<u32>>, most: usize) {
    intervals.sort_unstable_by_key(|interval| interval.start);
    intervals.dedup_by(|next, last| {
        let meets = next.start <= last.end;
        if meets {
            last.end = last.end.max(next.end);
        }
        meets
    });
    if intervals.len() <= most {
        return;
    }
    let mut holes: Vec<(u32, usize)> =
        (1..intervals.len()).map(|at| (intervals[at].start - intervals[at - 1].end, at)).collect();
    holes.sort_unstable_by(|a, b| b.cmp(a));
    let mut cuts: Vec<usize> = holes[..most - 1].iter().map(|hole| hole.1).collect();
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
        /// What is joined covers what it was made of, with as few other granules as so many intervals allow.
        #[test]
        fn intervals_are_joined_at_the_smallest_holes(parts in intervals(), most in 1usize..6) {
            let mut whole = parts.clone();
            joined(&mut whole, most);
            prop_assert!(whole.len() <= most && whole.windows(2).all(|two| two[0].end < two[1].start));
            prop_assert!(covers(&whole, &parts));
            let mut all = parts.clone();
            joined(&mut all, usize::MAX);
            let used: u32 = all.iter().map(|part| part.len() as u32).sum();
            let mut holes: Vec<u32> = all.windows(2).map(|two| two[1].start - two[0].end).collect();
            holes.sort_unstable();
            holes.truncate(all.len().saturating_sub(most));
            prop_assert_eq!(whole.iter().map(|part| part.len() as u32).sum::<u32>(), used + holes.iter().sum::<u32>());
        }

        #[test]
        fn what_is_covered_is_within(outer in intervals(), inner in intervals()) {
            let (mut outer, mut inner) = (outer, inner);
            joined(&mut outer, 12);
            joined(&mut inner, 12);
            let is_in = |at: u32| outer.iter().any(|interval| interval.contains(&at));
            prop_assert_eq!(covers(&outer, &inner), inner.iter().flat_map(Clone::clone).all(is_in));
        }
    }

    #[test]
    fn most_nodes_reach_no_further_than_their_own_granule() {
        assert_eq!(Reach::new(3, std::slice::from_ref(&(3..4))), Reach::OWN);
        assert_eq!(Reach::OWN.intervals(7).into_iter().flatten().collect::<Vec<_>>(), [7]);
        let wide = Reach::new(3, &[3..5, 9..10]);
        assert_eq!(wide.intervals(3)[..], [3..5, 9..10]);
    }
}
