//! The granules of nodes, as a few intervals.

use super::Numbering;
use crate::{Interval, Node};
use std::collections::HashSet;

impl Numbering {
    /// Returns at most `max_intervals` disjoint, ascending intervals that cover the granules of all
    /// leaves below the nodes, with the largest gaps left between them. (Splitting at the largest
    /// gaps is the idea of NumLock: Kalikar, Nasre, "NumLock: Towards Optimal Multi-Granularity
    /// Locking in Hierarchies", ICPP 2018.)
    ///
    /// A node whose [interval](Self::granules) is a single granule takes constant time. For others
    /// the time grows with the number of descendants whose intervals have several granules, and of
    /// their children.
    ///
    /// # Panics
    /// Panics if `max_intervals` is 0.
    #[track_caller]
    pub fn granule_intervals(&self, nodes: &[Node], max_intervals: usize) -> Vec<Interval<u32>> {
        assert!(max_intervals > 0, "`max_intervals` must be at least 1");
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
        Interval::merge(intervals, max_intervals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn pairs(intervals: &[Interval<u32>]) -> Vec<(u32, u32)> {
        intervals.iter().map(|interval| (interval.low, interval.high)).collect()
    }

    #[test]
    fn the_largest_gaps_are_left() {
        // Node 0 has 12 leaves, one in each granule; node 1 has those of the granules 0, 1, 5, 6
        // and 11.
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
}
