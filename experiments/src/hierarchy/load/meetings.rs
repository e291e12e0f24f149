//! Which pairs of tasks meet, as some node is in sub-trees of both, and which are taken to meet, as intervals that stand for
//! them overlap. Whether tasks read or write is not looked at: this is about what they touch.

use super::Task;
use std::fmt;
use xtasking_hierarchy::{Interval, Node, Numbering};

/// By what intervals a task's nodes are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// One interval of labels, over all nodes of the task (as DomLock has it).
    Hull,
    /// Up to so many intervals of labels, of which each node has one, with the largest holes left between them (as NumLock
    /// has it).
    Labels(usize),
    /// Up to so many intervals of granules, with the largest holes left between them.
    Granules(usize),
}

impl Resolution {
    /// The intervals of a task, disjoint and in rising order.
    ///
    /// # Panics
    /// If there are to be none, or there is no such node.
    pub fn intervals(self, numbering: &Numbering, nodes: &[Node]) -> Vec<Interval<u64>> {
        let most = match self {
            Self::Hull => 1,
            Self::Labels(most) => most,
            Self::Granules(most) => {
                let wide =
                    |Interval { low, high }: Interval<u32>| Interval { low: low.into(), high: high.into() };
                return numbering.granule_intervals(nodes, most).into_iter().map(wide).collect();
            }
        };
        let mut hulls: Vec<_> = nodes.iter().map(|&node| numbering.hull(node)).collect();
        hulls.sort_unstable_by_key(|hull| hull.low);
        let mut disjoint: Vec<Interval<u64>> = Vec::with_capacity(hulls.len());
        for hull in hulls {
            match disjoint.last_mut() {
                Some(last) if last.overlaps(hull) => *last = last.hull(hull),
                _ => disjoint.push(hull),
            }
        }
        Interval::merged(disjoint, most)
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hull => f.write_str("one hull"),
            Self::Labels(most) => write!(f, "hulls, up to {most}"),
            Self::Granules(most) => write!(f, "granules, up to {most} intervals"),
        }
    }
}

/// What has been found of pairs of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meetings {
    /// How many pairs have been looked at.
    pub pairs: u64,
    /// How many of them meet.
    pub real: u64,
    /// How many do not, though their intervals overlap.
    pub needless: u64,
    /// How many meet, though their intervals do not overlap: 0, unless the numbering is wrong.
    pub missed: u64,
}

impl Meetings {
    /// How many of all pairs meet, from 0 to 1.
    pub fn real_ratio(&self) -> f64 {
        self.real as f64 / self.pairs.max(1) as f64
    }

    /// How many of all pairs are taken to meet without need, from 0 to 1: the ratio of false conflicts.
    pub fn needless_ratio(&self) -> f64 {
        self.needless as f64 / self.pairs.max(1) as f64
    }
}

/// Looks at all pairs of the tasks; what is found by each resolution.
///
/// It takes memory for all leaves below each task's nodes, and as much time as there are tasks times that.
pub fn meetings(numbering: &Numbering, tasks: &[Task], resolutions: &[Resolution]) -> Vec<Meetings> {
    let shape = numbering.shape();
    // By node, the last task that it is a leaf of, where 0 stands for none.
    let mut marks = vec![0; shape.bound()];
    let mut leaves = Vec::with_capacity(tasks.len());
    for (task, number) in tasks.iter().zip(1usize..) {
        let below = task.nodes.iter().flat_map(|&node| shape.subtree(node));
        let new = |leaf: &Node| std::mem::replace(&mut marks[leaf.index()], number) != number;
        leaves.push(below.filter(|&node| shape.is_leaf(node)).filter(new).collect::<Vec<_>>());
    }
    let of = |resolution: &Resolution| {
        let of = |task: &Task| resolution.intervals(numbering, &task.nodes);
        tasks.iter().map(of).collect::<Vec<_>>()
    };
    let intervals: Vec<_> = resolutions.iter().map(of).collect();
    let mut found = vec![Meetings::default(); resolutions.len()];
    marks.fill(0);
    for a in 0..tasks.len() {
        leaves[a].iter().for_each(|leaf| marks[leaf.index()] = a + 1);
        for b in a + 1..tasks.len() {
            // Sub-trees that have a node in common have all below it, and so a leaf.
            let meet = leaves[b].iter().any(|leaf| marks[leaf.index()] == a + 1);
            for (found, intervals) in found.iter_mut().zip(&intervals) {
                let taken = overlap(&intervals[a], &intervals[b]);
                found.pairs += 1;
                found.real += u64::from(meet);
                found.needless += u64::from(taken && !meet);
                found.missed += u64::from(meet && !taken);
            }
        }
    }
    found
}

/// Whether an interval of one list overlaps one of the other; each is in rising order.
fn overlap(a: &[Interval<u64>], b: &[Interval<u64>]) -> bool {
    let (mut i, mut j) = (0, 0);
    while let (Some(one), Some(other)) = (a.get(i), b.get(j)) {
        if one.overlaps(*other) {
            return true;
        }
        if one.high < other.high { i += 1 } else { j += 1 }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::{Access, Settings, Targets, Tasks};
    use super::*;
    use proptest::prelude::*;
    use xtasking_hierarchy::{Shape, generate};

    const EACH: [Resolution; 5] = [
        Resolution::Hull,
        Resolution::Labels(2),
        Resolution::Labels(32),
        Resolution::Granules(2),
        Resolution::Granules(32),
    ];

    fn task(nodes: &[u32]) -> Task {
        Task { nodes: nodes.iter().copied().map(Node).collect(), access: Access::Read }
    }

    #[test]
    fn the_ends_of_a_hull_meet_all_between_them() {
        // The leaves 1 to 8, two in each of four granules.
        let numbering = Numbering::new(generate::star(9), 4);
        let tasks = [task(&[1, 8]), task(&[7, 2, 4]), task(&[3]), task(&[8, 6, 1])];
        let found = meetings(&numbering, &tasks, &EACH);
        let needless: Vec<_> = found.iter().map(|found| (found.needless, found.missed)).collect();
        // The first and the last meet. By one hull, all do; by two each, the second has 2 to 4, and the last has 6 to 8. By
        // granules the second meets all others, as leaf 2 shares that of leaf 1, and leaf 4 that of leaf 3.
        assert_eq!(needless, [(5, 0), (2, 0), (0, 0), (3, 0), (3, 0)]);
        assert!(found.iter().all(|found| (found.pairs, found.real) == (6, 1)));
        assert_eq!((found[0].real_ratio(), found[0].needless_ratio()), (1.0 / 6.0, 5.0 / 6.0));
    }

    #[test]
    fn in_a_tree_single_nodes_meet_only_if_their_hulls_overlap() {
        let shape = generate::treebank(20_000, 3);
        let targets = Targets::new(&shape, 1..=2_000);
        let settings = Settings { nodes: 1, reads: 70, skew: 8, near: None };
        let tasks: Vec<_> = Tasks::new(&targets, settings, 1, 0).take(300).collect();
        let found = meetings(&Numbering::new(shape, 64), &tasks, &EACH);
        assert!(found[0].real > 0 && found.iter().all(|found| found.missed == 0));
        assert!(found[..3].iter().all(|found| found.needless == 0), "{found:?}");
        assert!(found[3].needless > 0, "a granule has many leaves");
    }

    proptest! {
        /// What meets is what has a node in common, all nodes walked; no resolution misses any, and finer ones take fewer
        /// to meet.
        #[test]
        fn nothing_is_missed_and_more_intervals_tell_more(
            nodes in 2u32..60, parents in 1u32..4, seed: u64, granules in 1u32..20,
            picks in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 1..5), 2..8),
        ) {
            let shape = generate::random_dag(nodes, parents, seed);
            let pick = |pick: &prop::sample::Index| pick.index(nodes as usize) as u32;
            let tasks: Vec<_> = picks.iter().map(|picks| task(&picks.iter().map(pick).collect::<Vec<_>>())).collect();
            let all = |task: &Task| -> std::collections::HashSet<Node> {
                task.nodes.iter().flat_map(|&node| shape.subtree(node)).collect()
            };
            let sets: Vec<_> = tasks.iter().map(all).collect();
            let pairs = (0..sets.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            let real = pairs.filter(|&(a, b)| !sets[a].is_disjoint(&sets[b])).count() as u64;
            let found = meetings(&Numbering::new(shape, granules), &tasks, &EACH);
            for found in &found {
                prop_assert_eq!((found.real, found.missed), (real, 0));
                prop_assert_eq!(found.pairs as usize, tasks.len() * (tasks.len() - 1) / 2);
            }
            prop_assert!(found[0].needless >= found[1].needless && found[1].needless >= found[2].needless);
            prop_assert!(found[3].needless >= found[4].needless);
        }
    }

    #[test]
    fn a_shared_node_makes_hulls_overlap_without_need() {
        // In the order 4, 6, 5, 7, the leaves 6 and 7 of node 3 have leaf 5 of node 2 between them.
        let edges = [(0, 1), (0, 2), (0, 3), (1, 4), (1, 6), (2, 5), (3, 6), (3, 7)];
        let numbering = Numbering::new(Shape::from_edges(8, &edges).unwrap(), 4);
        let tasks = [task(&[1]), task(&[2]), task(&[3])];
        let found = meetings(&numbering, &tasks, &EACH);
        assert!(found.iter().all(|found| (found.real, found.missed) == (1, 0)));
        // Granules are told below a node as well.
        assert_eq!(found.iter().map(|found| found.needless).collect::<Vec<_>>(), [1, 1, 1, 0, 0]);
    }
}
