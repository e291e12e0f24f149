//! Computes how large the sub-trees are that tasks name.

use super::{Targets, Task};
use std::fmt;

/// Numbers of nodes of the named sub-trees; a sub-tree counts as often as it is named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// The share of leaves, from 0 to 1.
    pub leaves: f64,
    /// The mean size.
    pub mean: f64,
    /// The median.
    pub median: u32,
    /// The 90th percentile.
    pub p90: u32,
    /// The 99th percentile.
    pub p99: u32,
    /// The size of the largest.
    pub largest: u32,
}

impl Sizes {
    /// Computes the sizes of the nodes that `tasks` name.
    ///
    /// # Panics
    /// If no node is named.
    pub fn of<'a>(targets: &Targets, tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        let nodes = tasks.into_iter().flat_map(|task| &task.nodes);
        let mut sizes: Vec<u32> = nodes.map(|&node| targets.size(node)).collect();
        assert!(!sizes.is_empty(), "no node is named");
        sizes.sort_unstable();
        let at = |percent: usize| sizes[(sizes.len() * percent).div_ceil(100) - 1];
        let total: u64 = sizes.iter().copied().map(u64::from).sum();
        Self {
            leaves: sizes.partition_point(|&size| size == 1) as f64 / sizes.len() as f64,
            mean: total as f64 / sizes.len() as f64,
            median: at(50),
            p90: at(90),
            p99: at(99),
            largest: at(100),
        }
    }
}

/// Formats the sizes as one line.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, median, p90, p99, largest, .. } = self;
        write!(
            f,
            "sub-trees named: {:.0}% leaves, mean {mean:.1} nodes, median {median}, ",
            self.leaves * 100.0
        )?;
        write!(f, "90% up to {p90}, 99% up to {p99}, largest {largest}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Access;
    use super::*;
    use xtasking_hierarchy::{Node, generate};

    #[test]
    fn sizes_are_weighted_by_how_often_they_are_named() {
        // The sub-tree of node i has 200 - i nodes.
        let targets = Targets::new(&generate::path(200), 1..=150);
        let task = |sizes: Vec<u32>| Task {
            nodes: sizes.into_iter().map(|size| Node(200 - size)).collect(),
            access: Access::Read,
        };
        let sizes = Sizes::of(&targets, &[task((1..=50).collect()), task((51..=100).collect())]);
        let expected = Sizes { leaves: 0.01, mean: 50.5, median: 50, p90: 90, p99: 99, largest: 100 };
        assert_eq!(sizes, expected);
        let often = Sizes::of(&targets, &[task(vec![1]), task(vec![1]), task(vec![1, 7])]);
        assert_eq!((often.leaves, often.median, often.p90, often.largest), (0.75, 1, 7, 7));
        assert!(
            often.to_string().starts_with("sub-trees named: 75% leaves, mean 2.5 nodes, median 1"),
            "{often}"
        );
    }
}
