//! The granules of nodes, as a few intervals.

use super::Numbering;
use crate::{Interval, Node};
use std::collections::HashSet;

impl Numbering {
    /// At most that many disjoint intervals, in rising order, that cover the granules of all leaves below the nodes, with the
    /// largest holes left between them. (Splitting at the largest holes is the idea of NumLock: Kalikar, Nasre, "NumLock:
    /// Towards Optimal Multi-Granularity Locking in Hierarchies", ICPP 2018.)
    ///
    /// Where the [interval](Self::granules) of one of the nodes is one granule there is nothing to be looked for below it;
    /// otherwise it takes time for the descendants whose intervals are of several granules, and for the children of these.
    ///
    /// # Panics
    /// If there are to be no intervals.
    #[track_caller]
    pub fn granule_intervals(&self, nodes: &[Node], most: usize) -> Vec<Interval<u32>> {
        assert!(most > 0, "no interval covers nothing");
        let mut used = vec![false; self.granules as usize];
        let mut open = nodes.to_vec();
        let mut shared = HashSet::new();
        while let Some(node) = open.pop() {
            let Interval { low, high } = self.granules(node);
            let range = &mut used[low as usize..=high as usize];
            if let [one] = range {
                *one = true;
            } else if !range.iter().all(|&used| used) && (!self.shape.is_shared(node) || shared.insert(node))
            {
                open.extend(self.shape.children(node));
            }
        }
        let mut intervals: Vec<Interval<u32>> = Vec::new();
        for granule in (0..self.granules).filter(|&granule| used[granule as usize]) {
            match intervals.last_mut() {
                Some(last) if last.high + 1 == granule => last.high = granule,
                _ => intervals.push(Interval { low: granule, high: granule }),
            }
        }
        merged(intervals, most)
    }
}

/// No more than `most` intervals, of which those with the smallest holes between them have become one.
fn merged(intervals: Vec<Interval<u32>>, most: usize) -> Vec<Interval<u32>> {
    if intervals.len() <= most {
        return intervals;
    }
    let hole = |index: usize| intervals[index].low - intervals[index - 1].high;
    let mut cuts: Vec<usize> = (1..intervals.len()).collect();
    cuts.sort_by_key(|&index| std::cmp::Reverse(hole(index)));
    cuts.truncate(most - 1);
    cuts.sort_unstable();
    cuts.push(intervals.len());
    let mut first = 0;
    let mut all = |&cut: &usize| {
        let from = std::mem::replace(&mut first, cut);
        Interval { low: intervals[from].low, high: intervals[cut - 1].high }
    };
    cuts.iter().map(&mut all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use proptest::prelude::*;

    fn pairs(intervals: &[Interval<u32>]) -> Vec<(u32, u32)> {
        intervals.iter().map(|interval| (interval.low, interval.high)).collect()
    }

    #[test]
    fn the_largest_holes_are_left() {
        // Node 0 has 12 leaves, one for each granule; node 1 has those of the granules 0, 1, 5, 6 and 11.
        let mut edges: Vec<_> = (2..14).map(|leaf| (0, leaf)).collect();
        edges.extend([0, 1, 5, 6, 11].map(|granule| (1, granule + 2)));
        let numbering = Numbering::new(Shape::from_edges(14, &edges).unwrap(), 12);
        let of = |node, most| pairs(&numbering.granule_intervals(&[Node(node)], most));
        assert_eq!(of(1, 9), [(0, 1), (5, 6), (11, 11)]);
        assert_eq!(of(1, 2), [(0, 6), (11, 11)]);
        assert_eq!(of(1, 1), [(0, 11)]);
        assert_eq!(of(0, 9), [(0, 11)]);
        assert_eq!(pairs(&numbering.granule_intervals(&[Node(4), Node(9), Node(5)], 9)), [(2, 3), (7, 7)]);
        assert_eq!(pairs(&numbering.granule_intervals(&[], 1)), []);
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
            let left = merged(intervals.clone(), most);
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
