//! Counts pairs of tasks that conflict, as their sub-trees share a node, and pairs with a false
//! conflict, as only the intervals that stand for them overlap. Whether tasks read or write does
//! not count here.

use super::Task;
use std::fmt;
use xtasking_hierarchy::{Interval, Node, Numbering};

/// Which intervals stand for a task's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// One interval of labels over all nodes of the task, as in DomLock.
    Hull,
    /// Up to this many intervals of labels, at most one for each node, with the largest gaps
    /// between them, as in NumLock.
    Labels(usize),
    /// Up to this many intervals of granules, with the largest gaps between them.
    Granules(usize),
}

impl Resolution {
    /// Returns the intervals of a task, disjoint and in ascending order.
    ///
    /// # Panics
    /// If the maximal number of intervals is 0, or a node does not exist.
    pub fn intervals(self, numbering: &Numbering, nodes: &[Node]) -> Vec<Interval<u64>> {
        let max = match self {
            Self::Hull => 1,
            Self::Labels(max) => max,
            Self::Granules(max) => {
                let wide =
                    |Interval { low, high }: Interval<u32>| Interval { low: low.into(), high: high.into() };
                return numbering.granule_intervals(nodes, max).into_iter().map(wide).collect();
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
        Interval::merge(disjoint, max)
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hull => f.write_str("one hull"),
            Self::Labels(max) => write!(f, "hulls, up to {max}"),
            Self::Granules(max) => write!(f, "granules, up to {max} intervals"),
        }
    }
}

/// Counts of task pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// All pairs.
    pub pairs: u64,
    /// Pairs whose sub-trees share a node.
    pub real: u64,
    /// Pairs with a false conflict: their intervals overlap, but their sub-trees do not.
    pub false_conflicts: u64,
    /// Pairs that conflict without overlapping intervals: 0, unless the numbering is wrong.
    pub missed: u64,
}

impl Conflicts {
    /// Returns the share of pairs that conflict, from 0 to 1.
    pub fn real_ratio(&self) -> f64 {
        self.real as f64 / self.pairs.max(1) as f64
    }

    /// Returns the share of pairs with a false conflict, from 0 to 1.
    pub fn false_ratio(&self) -> f64 {
        self.false_conflicts as f64 / self.pairs.max(1) as f64
    }
}

/// Checks all pairs of `tasks` under each resolution.
///
/// Needs memory for all leaves below each task's nodes; the time is the number of tasks times that.
pub fn conflicts(numbering: &Numbering, tasks: &[Task], resolutions: &[Resolution]) -> Vec<Conflicts> {
    let shape = numbering.shape();
    // By node, the number of the last task that has it as a leaf; 0 for none.
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
    let mut counts = vec![Conflicts::default(); resolutions.len()];
    marks.fill(0);
    for a in 0..tasks.len() {
        leaves[a].iter().for_each(|leaf| marks[leaf.index()] = a + 1);
        for b in a + 1..tasks.len() {
            // Sub-trees that share a node share everything below it, and so a leaf.
            let conflict = leaves[b].iter().any(|leaf| marks[leaf.index()] == a + 1);
            for (counts, intervals) in counts.iter_mut().zip(&intervals) {
                let overlaps = overlap(&intervals[a], &intervals[b]);
                counts.pairs += 1;
                counts.real += u64::from(conflict);
                counts.false_conflicts += u64::from(overlaps && !conflict);
                counts.missed += u64::from(conflict && !overlaps);
            }
        }
    }
    counts
}

/// Returns true if an interval of `a` overlaps one of `b`; both are in ascending order.
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
    use super::super::{Access, Targets, TaskSettings, Tasks};
    use super::*;
    use proptest::prelude::*;
    use xtasking_hierarchy::{Shape, generate};

    const RESOLUTIONS: [Resolution; 5] = [
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
    fn a_hull_conflicts_with_everything_between_its_ends() {
        // The leaves 1 to 8, two in each of four granules.
        let numbering = Numbering::new(generate::star(9), 4);
        let tasks = [task(&[1, 8]), task(&[7, 2, 4]), task(&[3]), task(&[8, 6, 1])];
        let counts = conflicts(&numbering, &tasks, &RESOLUTIONS);
        let false_conflicts: Vec<_> =
            counts.iter().map(|counts| (counts.false_conflicts, counts.missed)).collect();
        // The first and the last task conflict. With one hull, all do. With two each, the second
        // has 2 to 4, and the last has 6 to 8. With granules, the second conflicts with all others,
        // as leaves 1 and 2 share a granule, and so do leaves 3 and 4.
        assert_eq!(false_conflicts, [(5, 0), (2, 0), (0, 0), (3, 0), (3, 0)]);
        assert!(counts.iter().all(|counts| (counts.pairs, counts.real) == (6, 1)));
        assert_eq!((counts[0].real_ratio(), counts[0].false_ratio()), (1.0 / 6.0, 5.0 / 6.0));
    }

    #[test]
    fn in_a_tree_hulls_of_single_nodes_have_no_false_conflicts() {
        let shape = generate::treebank(20_000, 3);
        let targets = Targets::new(&shape, 1..=2_000);
        let settings = TaskSettings { nodes: 1, reads: 70, skew: 8, near: None };
        let tasks: Vec<_> = Tasks::new(&targets, settings, 1, 0).take(300).collect();
        let counts = conflicts(&Numbering::new(shape, 64), &tasks, &RESOLUTIONS);
        assert!(counts[0].real > 0 && counts.iter().all(|counts| counts.missed == 0));
        assert!(counts[..3].iter().all(|counts| counts.false_conflicts == 0), "{counts:?}");
        assert!(counts[3].false_conflicts > 0, "a granule has many leaves");
    }

    proptest! {
        /// The conflicts are those of a walk of all nodes. No resolution misses any, and a finer
        /// one has fewer false conflicts.
        #[test]
        fn no_conflict_is_missed_and_more_intervals_have_fewer_false_conflicts(
            nodes in 2u32..60, parents in 1u32..4, seed: u64, granules in 1u32..20,
            picks in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 1..5), 2..8),
        ) {
            let shape = generate::random_dag(nodes, parents, seed);
            let pick = |pick: &prop::sample::Index| pick.index(nodes as usize) as u32;
            let task_of = |picks: &Vec<_>| task(&picks.iter().map(pick).collect::<Vec<_>>());
            let tasks: Vec<_> = picks.iter().map(task_of).collect();
            let all = |task: &Task| -> std::collections::HashSet<Node> {
                task.nodes.iter().flat_map(|&node| shape.subtree(node)).collect()
            };
            let sets: Vec<_> = tasks.iter().map(all).collect();
            let pairs = (0..sets.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            let real = pairs.filter(|&(a, b)| !sets[a].is_disjoint(&sets[b])).count() as u64;
            let counts = conflicts(&Numbering::new(shape, granules), &tasks, &RESOLUTIONS);
            for counts in &counts {
                prop_assert_eq!((counts.real, counts.missed), (real, 0));
                prop_assert_eq!(counts.pairs as usize, tasks.len() * (tasks.len() - 1) / 2);
            }
            let false_conflicts: Vec<_> = counts.iter().map(|counts| counts.false_conflicts).collect();
            prop_assert!(false_conflicts[..3].is_sorted_by(|coarse, fine| coarse >= fine));
            prop_assert!(false_conflicts[3] >= false_conflicts[4]);
        }
    }

    #[test]
    fn a_node_with_two_parents_causes_false_conflicts_of_hulls() {
        // In the order 4, 6, 5, 7, leaf 5 of node 2 lies between the leaves 6 and 7 of node 3.
        let edges = [(0, 1), (0, 2), (0, 3), (1, 4), (1, 6), (2, 5), (3, 6), (3, 7)];
        let numbering = Numbering::new(Shape::from_edges(8, &edges).unwrap(), 4);
        let tasks = [task(&[1]), task(&[2]), task(&[3])];
        let counts = conflicts(&numbering, &tasks, &RESOLUTIONS);
        assert!(counts.iter().all(|counts| (counts.real, counts.missed) == (1, 0)));
        // Granules below a node are distinguished as well.
        assert_eq!(counts.iter().map(|counts| counts.false_conflicts).collect::<Vec<_>>(), [1, 1, 1, 0, 0]);
    }
}
