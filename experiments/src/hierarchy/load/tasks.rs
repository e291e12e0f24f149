//! Generates the tasks: a stream from a seed.

use super::Targets;
use xtasking_harness::random::Random;
use xtasking_hierarchy::Node;

/// What a task does to all nodes of its sub-trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads them.
    Read,
    /// Writes them.
    Write,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The roots of the sub-trees, distinct, in the order in which they were drawn.
    pub nodes: Vec<Node>,
    /// What it does to them.
    pub access: Access,
}

/// What tasks are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSettings {
    /// Nodes that a task names.
    pub nodes: usize,
    /// Percentage of tasks that read.
    pub reads: u32,
    /// The index of skew, 1 or more.
    pub skew: u32,
    /// Size of the window that the nodes of a task are drawn from, in positions; `None` for all.
    pub near: Option<usize>,
}

/// An endless stream of tasks.
#[derive(Clone, Debug)]
pub struct Tasks<'a> {
    targets: &'a Targets,
    settings: TaskSettings,
    random: Random,
}

/// Separates these random numbers from other uses of the seed.
const PATH: u64 = 0x7a5c;

impl<'a> Tasks<'a> {
    /// Creates stream `stream` of a seed; each stream has other tasks.
    ///
    /// # Panics
    /// If there are fewer nodes to draw from, in all or in the window, than a task names.
    pub fn new(targets: &'a Targets, settings: TaskSettings, seed: u64, stream: u64) -> Self {
        let TaskSettings { nodes, near, .. } = settings;
        assert!(targets.len() >= nodes && near.is_none_or(|near| near >= nodes), "there are too few nodes");
        Self { targets, settings, random: Random::new(seed, &[PATH, stream]) }
    }

    /// Draws a position with the wanted skew.
    fn position(&mut self) -> usize {
        let fraction = self.random.fraction();
        // Repeated multiplication gives the same result on all machines; `powf` need not.
        let skewed = (1..self.settings.skew).fold(fraction, |power, _| power * fraction);
        (self.targets.len() as f64 * skewed) as usize
    }
}

impl Iterator for Tasks<'_> {
    type Item = Task;

    fn next(&mut self) -> Option<Task> {
        let TaskSettings { nodes: wanted, reads, near, .. } = self.settings;
        let access = if self.random.below(100) < reads.into() { Access::Read } else { Access::Write };
        let first = self.position();
        let mut positions = vec![first];
        // The window is clipped to the positions.
        let window = near.map(|near| {
            let near = near.min(self.targets.len());
            (first.saturating_sub(near / 2).min(self.targets.len() - near), near as u64)
        });
        while positions.len() < wanted {
            let position = match window {
                Some((low, near)) => low + self.random.below(near) as usize,
                None => self.position(),
            };
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        positions.truncate(wanted);
        let nodes = positions.into_iter().map(|position| self.targets.nodes()[position]).collect();
        Some(Task { nodes, access })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use xtasking_hierarchy::{Shape, generate};

    const SETTINGS: TaskSettings = TaskSettings { nodes: 4, reads: 70, skew: 1, near: None };

    /// Allows all nodes but the root; a position is the node's number less 1.
    fn star(leaves: u32) -> Targets {
        Targets::new(&generate::star(leaves + 1), 1..=1)
    }

    fn positions(targets: &Targets, settings: TaskSettings, count: usize) -> Vec<Vec<usize>> {
        let tasks = Tasks::new(targets, settings, 42, 0).take(count);
        tasks.map(|task| task.nodes.iter().map(|node| node.index() - 1).collect()).collect()
    }

    #[test]
    fn equal_seeds_and_streams_give_equal_tasks_and_different_ones_do_not() {
        let targets = star(1_000);
        let of = |seed, stream| Tasks::new(&targets, SETTINGS, seed, stream).take(50).collect::<Vec<_>>();
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(2, 0));
        assert_ne!(of(1, 0), of(1, 1));
    }

    #[test]
    fn the_share_of_reading_tasks_is_as_configured() {
        let targets = star(10);
        for (reads, low, high) in [(0, 0, 0), (70, 69_400, 70_600), (100, 100_000, 100_000)] {
            let settings = TaskSettings { nodes: 1, reads, ..SETTINGS };
            let tasks = Tasks::new(&targets, settings, 7, 0).take(100_000);
            // 600 is four times the standard deviation.
            let read = tasks.filter(|task| task.access == Access::Read).count();
            assert!((low..=high).contains(&read), "{read} of 100000 read, not {reads}%");
        }
    }

    /// The first fraction f of the positions has f^(1/s) of the draws, and the mean position is
    /// 1/(s + 1) of all.
    #[test]
    fn the_distribution_of_positions_follows_the_skew() {
        const DRAWS: usize = 50_000;
        let targets = star(100_000);
        for skew in 1..=16 {
            let settings = TaskSettings { nodes: 1, skew, ..SETTINGS };
            let drawn: Vec<_> = positions(&targets, settings, DRAWS).concat();
            for first in [0.001, 0.01, 0.1, 0.5, 0.9] {
                let end = (first * 100_000.0) as usize;
                let share = drawn.iter().filter(|&&position| position < end).count() as f64 / DRAWS as f64;
                let expected = f64::powf(first, 1.0 / f64::from(skew));
                // Five times the standard deviation.
                let slack = 5.0 * (expected * (1.0 - expected) / DRAWS as f64).sqrt();
                assert!(
                    (share - expected).abs() < slack,
                    "skew {skew}: {share} in the first {first}, not {expected}"
                );
            }
            let mean = drawn.iter().sum::<usize>() as f64 / DRAWS as f64 / 100_000.0;
            assert!((mean - 1.0 / f64::from(skew + 1)).abs() < 0.005, "skew {skew}: mean {mean}");
        }
    }

    #[test]
    fn nodes_of_a_task_are_in_a_window_around_the_first() {
        let targets = star(1_000);
        let settings = TaskSettings { near: Some(10), ..SETTINGS };
        let mut histogram = [0; 11];
        for task in positions(&targets, settings, 100_000) {
            let (low, high) = (task.iter().min().unwrap(), task.iter().max().unwrap());
            assert!(high - low < 10, "{task:?}");
            if (5..995).contains(&task[0]) {
                task[1..].iter().for_each(|position| histogram[position + 5 - task[0]] += 1);
            }
        }
        // Three others of 9, equally likely. The first itself is in the middle, and the window's
        // size is even.
        assert_eq!((histogram[5], histogram[10]), (0, 0));
        let others: Vec<_> = histogram.iter().filter(|&&count| count > 0).copied().collect();
        assert!(
            others.len() == 9 && others.iter().all(|count| (32_000..34_000).contains(count)),
            "{histogram:?}"
        );
        // A window that is wider than all positions.
        let all = TaskSettings { near: Some(5_000), nodes: 32, ..SETTINGS };
        assert!(positions(&star(32), all, 10).iter().all(|task| task.len() == 32));
    }

    proptest! {
        #[test]
        fn a_task_names_the_configured_number_of_distinct_nodes(
            leaves in 1u32..60,
            nodes in 1usize..=32,
            skew in 1u32..=16,
            near in prop::option::of(1usize..50),
            seed: u64,
        ) {
            let nodes = nodes.min(leaves as usize).min(near.unwrap_or(nodes));
            let targets = star(leaves);
            for task in Tasks::new(&targets, TaskSettings { nodes, reads: 50, skew, near }, seed, 3).take(5) {
                let mut each = task.nodes.clone();
                each.sort();
                each.dedup();
                prop_assert_eq!(each.len(), nodes);
                prop_assert!(each.iter().all(|node| targets.nodes().contains(node)));
            }
        }
    }

    #[test]
    #[should_panic(expected = "too few nodes")]
    fn a_task_cannot_name_more_nodes_than_there_are() {
        let targets = Targets::new(&Shape::from_edges(3, &[]).unwrap(), 1..=1);
        _ = Tasks::new(&targets, SETTINGS, 1, 0);
    }
}
