//! The tasks: a stream from a seed.

use super::Targets;
use crate::ycsb::distribution::Random;
use xtasking_hierarchy::Node;

/// What a task does to all in its sub-trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The nodes for whose sub-trees it stands, each once, in the order in which they were drawn.
    pub nodes: Vec<Node>,
    /// What it does to them.
    pub access: Access,
}

/// What tasks are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many nodes a task names.
    pub nodes: usize,
    /// How many of a hundred tasks read.
    pub reads: u32,
    /// The index of skew, 1 or more.
    pub skew: u32,
    /// The nodes of a task are from a window of so many positions; `None` if from all.
    pub near: Option<usize>,
}

/// Tasks without end.
#[derive(Clone, Debug)]
pub struct Tasks<'a> {
    targets: &'a Targets,
    settings: Settings,
    random: Random,
}

/// Sets these streams of random numbers apart from those for other uses of a seed.
const PATH: u64 = 0x7a5c;

impl<'a> Tasks<'a> {
    /// The tasks of a seed; each number of a stream gives others.
    ///
    /// # Panics
    /// If there are fewer nodes to draw from, all or near, than a task names.
    pub fn new(targets: &'a Targets, settings: Settings, seed: u64, stream: u64) -> Self {
        let Settings { nodes, near, .. } = settings;
        assert!(targets.len() >= nodes && near.is_none_or(|near| near >= nodes), "there are too few nodes");
        Self { targets, settings, random: Random::new(seed, &[PATH, stream]) }
    }

    /// A position, as skewed as wanted.
    fn position(&mut self) -> usize {
        let fraction = self.random.fraction();
        // Multiplied one by one it is the same on all machines, which a power need not be.
        let skewed = (1..self.settings.skew).fold(fraction, |power, _| power * fraction);
        (self.targets.len() as f64 * skewed) as usize
    }
}

impl Iterator for Tasks<'_> {
    type Item = Task;

    fn next(&mut self) -> Option<Task> {
        let Settings { nodes: wanted, reads, near, .. } = self.settings;
        let access = if self.random.below(100) < reads.into() { Access::Read } else { Access::Write };
        let first = self.position();
        let mut positions = vec![first];
        // The window ends where the positions do.
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

    const SETTINGS: Settings = Settings { nodes: 4, reads: 70, skew: 1, near: None };

    /// All nodes but the root, whose positions are one less than their numbers.
    fn star(leaves: u32) -> Targets {
        Targets::new(&generate::star(leaves + 1), 1..=1)
    }

    fn positions(targets: &Targets, settings: Settings, count: usize) -> Vec<Vec<usize>> {
        let tasks = Tasks::new(targets, settings, 42, 0).take(count);
        tasks.map(|task| task.nodes.iter().map(|node| node.index() - 1).collect()).collect()
    }

    #[test]
    fn equal_seeds_give_equal_tasks_and_others_others() {
        let targets = star(1_000);
        let of = |seed, stream| Tasks::new(&targets, SETTINGS, seed, stream).take(50).collect::<Vec<_>>();
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(2, 0));
        assert_ne!(of(1, 0), of(1, 1));
    }

    #[test]
    fn as_many_tasks_read_as_wanted() {
        let targets = star(10);
        for (reads, low, high) in [(0, 0, 0), (70, 69_400, 70_600), (100, 100_000, 100_000)] {
            let settings = Settings { nodes: 1, reads, ..SETTINGS };
            let tasks = Tasks::new(&targets, settings, 7, 0).take(100_000);
            // 600 is four times the standard deviation.
            let read = tasks.filter(|task| task.access == Access::Read).count();
            assert!((low..=high).contains(&read), "{read} of 100000 read, not {reads}%");
        }
    }

    /// The first fraction f of the positions has f^(1/s) of the draws, and the mean position is 1/(s + 1) of all.
    #[test]
    fn the_skew_is_as_described() {
        const DRAWS: usize = 50_000;
        let targets = star(100_000);
        for skew in 1..=16 {
            let settings = Settings { nodes: 1, skew, ..SETTINGS };
            let drawn: Vec<_> = positions(&targets, settings, DRAWS).concat();
            for first in [0.001, 0.01, 0.1, 0.5, 0.9] {
                let end = (first * 100_000.0) as usize;
                let found = drawn.iter().filter(|&&position| position < end).count() as f64 / DRAWS as f64;
                let expected = f64::powf(first, 1.0 / f64::from(skew));
                // Five times the standard deviation.
                let slack = 5.0 * (expected * (1.0 - expected) / DRAWS as f64).sqrt();
                assert!(
                    (found - expected).abs() < slack,
                    "skew {skew}: {found} in the first {first}, not {expected}"
                );
            }
            let mean = drawn.iter().sum::<usize>() as f64 / DRAWS as f64 / 100_000.0;
            assert!((mean - 1.0 / f64::from(skew + 1)).abs() < 0.005, "skew {skew}: mean {mean}");
        }
    }

    #[test]
    fn near_nodes_are_in_a_window_around_the_first() {
        let targets = star(1_000);
        let settings = Settings { near: Some(10), ..SETTINGS };
        let mut seen = [0; 11];
        for task in positions(&targets, settings, 100_000) {
            let (low, high) = (task.iter().min().unwrap(), task.iter().max().unwrap());
            assert!(high - low < 10, "{task:?}");
            if (5..995).contains(&task[0]) {
                task[1..].iter().for_each(|position| seen[position + 5 - task[0]] += 1);
            }
        }
        // Three others of 9 that are equally likely; the first itself is in the middle, and the window is even.
        assert_eq!((seen[5], seen[10]), (0, 0));
        let others: Vec<_> = seen.iter().filter(|&&count| count > 0).copied().collect();
        assert!(others.len() == 9 && others.iter().all(|count| (32_000..34_000).contains(count)), "{seen:?}");
        // A window that is wider than all there is.
        let all = Settings { near: Some(5_000), nodes: 32, ..SETTINGS };
        assert!(positions(&star(32), all, 10).iter().all(|task| task.len() == 32));
    }

    proptest! {
        #[test]
        fn a_task_names_as_many_nodes_as_wanted_each_once(
            leaves in 1u32..60, nodes in 1usize..=32, skew in 1u32..=16, near in prop::option::of(1usize..50), seed: u64,
        ) {
            let nodes = nodes.min(leaves as usize).min(near.unwrap_or(nodes));
            let targets = star(leaves);
            for task in Tasks::new(&targets, Settings { nodes, reads: 50, skew, near }, seed, 3).take(5) {
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
    fn more_nodes_than_there_are_cannot_be_named() {
        let targets = Targets::new(&Shape::from_edges(3, &[]).unwrap(), 1..=1);
        _ = Tasks::new(&targets, SETTINGS, 1, 0);
    }
}
