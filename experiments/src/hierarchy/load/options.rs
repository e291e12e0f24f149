//! The command line.

use super::super::changes::Chances;
use super::{Settings, Targets};
use crate::failure::Failure;
use clap::Args;
use std::fmt::Display;
use std::ops::RangeInclusive;
use xtasking_hierarchy::Shape;

/// What the tasks name: all combinations of what lists are given.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tasks")]
pub struct Load {
    /// Nodes that a task names
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "4",
        default_value_if("sweep", "nodes", "1,2,4,8,16,32")
    )]
    pub nodes_per_task: Vec<usize>,

    /// How many of a hundred tasks read; the others write
    #[arg(
        long,
        value_name = "PERCENT,…",
        value_delimiter = ',',
        default_value = "70",
        default_value_if("sweep", "reads", "0,25,50,70,90,100")
    )]
    pub reads: Vec<u32>,

    /// How many of a hundred tasks insert or remove nodes, or link and unlink them where nodes have several parents
    #[arg(
        long,
        value_name = "PERCENT,…",
        value_delimiter = ',',
        default_value = "0",
        default_value_if("sweep", "structural", "0,1,2,5,10")
    )]
    pub structural: Vec<u32>,

    /// How many of a hundred tasks panic when they are half done, so that another one has to mend what they leave
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "0")]
    pub panics: Vec<u32>,

    /// How skewed the choice of nodes is: 1 is not at all, 16 is most
    #[arg(
        long,
        value_name = "INDEX,…",
        value_delimiter = ',',
        default_value = "1,8",
        default_value_if("sweep", "skew", "1,2,4,8,12,16")
    )]
    pub skew: Vec<u32>,

    /// The fewest nodes that the sub-tree of a node has that is named
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub smallest: usize,

    /// The most nodes that the sub-tree of a node has that is named [default: a 64th of all]
    #[arg(long, value_name = "N")]
    pub largest: Option<usize>,

    /// Draw the nodes of a task from so many that follow each other in depth-first order [default: from all]
    #[arg(long, value_name = "N")]
    pub near: Option<usize>,
}

const NODES_PER_TASK: RangeInclusive<usize> = 1..=32;
const PERCENT: RangeInclusive<u32> = 0..=100;
const SKEW: RangeInclusive<u32> = 1..=16;
/// The largest sub-tree that is named has that share of all nodes.
const SHARE: usize = 64;

impl Load {
    /// Checks what can be checked before any work.
    ///
    /// # Errors
    /// Something is out of range, or nearer than a task has nodes.
    pub fn check(&self) -> Result<(), Failure> {
        within("--nodes-per-task", &self.nodes_per_task, NODES_PER_TASK)?;
        within("--reads", &self.reads, PERCENT)?;
        within("--structural", &self.structural, PERCENT)?;
        within("--panics", &self.panics, PERCENT)?;
        within("--skew", &self.skew, SKEW)?;
        let most = self.most();
        if let Some(near) = self.near.filter(|&near| near < most) {
            let text =
                format!("--near is {near}: a task that names {most} nodes draws from as many at least");
            return Err(Failure::Usage(text));
        }
        Ok(())
    }

    /// The most nodes that a task names.
    fn most(&self) -> usize {
        self.nodes_per_task.iter().copied().max().unwrap_or(0)
    }

    /// The nodes that may be named.
    ///
    /// # Errors
    /// There is none with such a sub-tree.
    pub fn targets(&self, shape: &Shape) -> Result<Targets, Failure> {
        let largest = self.largest.unwrap_or((shape.len() / SHARE).max(self.smallest).max(1));
        let targets = Targets::new(shape, self.smallest..=largest);
        if targets.is_empty() {
            let sizes = format!("--smallest {} --largest {largest}", self.smallest);
            return Err(Failure::Usage(format!("{sizes}: no node has a sub-tree of so many nodes")));
        }
        Ok(targets)
    }

    /// What they may do besides, in all combinations.
    pub(in super::super) fn chances(&self) -> Vec<Chances> {
        let of = |&structural| self.panics.iter().map(move |&panics| Chances { structural, panics });
        self.structural.iter().flat_map(of).collect()
    }

    /// What the tasks are to be like, in all combinations: the skew changes last, and the nodes of a task first.
    ///
    /// # Errors
    /// Something is out of range, or there are fewer nodes to draw from than a task is to name.
    pub fn settings(&self, targets: &Targets) -> Result<Vec<Settings>, Failure> {
        self.check()?;
        let most = self.most();
        if targets.len() < most {
            let text =
                format!("a task cannot name {most} nodes, as there are {} to choose from", targets.len());
            return Err(Failure::Usage(text));
        }
        let mut all = Vec::new();
        for &skew in &self.skew {
            for &reads in &self.reads {
                let settings = |&nodes| Settings { nodes, reads, skew, near: self.near };
                all.extend(self.nodes_per_task.iter().map(settings));
            }
        }
        Ok(all)
    }
}

fn within<T: PartialOrd + Display>(
    option: &str,
    numbers: &[T],
    range: RangeInclusive<T>,
) -> Result<(), Failure> {
    match numbers.iter().find(|&number| !range.contains(number)) {
        Some(number) => {
            Err(Failure::Usage(format!("{option} is {number}; choose {} to {}", range.start(), range.end())))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use xtasking_hierarchy::generate;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        load: Load,
    }

    fn load(line: &str) -> Load {
        Line::parse_from(std::iter::once("test").chain(line.split_whitespace())).load
    }

    #[test]
    fn lists_are_combined() {
        let targets = load("").targets(&generate::star(7_000)).unwrap();
        let settings = load("--nodes-per-task 1,32 --skew 1,16 --reads 0,100 --near 40").settings(&targets);
        let settings: Vec<_> =
            settings.unwrap().into_iter().map(|one| (one.nodes, one.reads, one.skew)).collect();
        let expected = [
            (1, 0, 1),
            (32, 0, 1),
            (1, 100, 1),
            (32, 100, 1),
            (1, 0, 16),
            (32, 0, 16),
            (1, 100, 16),
            (32, 100, 16),
        ];
        assert_eq!(settings, expected);
        let default = Settings { nodes: 4, reads: 70, skew: 1, near: None };
        assert_eq!(load("").settings(&targets).unwrap(), [default, Settings { skew: 8, ..default }]);
    }

    #[test]
    fn the_largest_sub_tree_is_a_64th_unless_told() {
        let shape = generate::path(6_400);
        assert_eq!(load("").targets(&shape).unwrap().len(), 100);
        assert_eq!(load("--largest 7").targets(&shape).unwrap().len(), 7);
        assert_eq!(load("--smallest 7 --largest 7").targets(&shape).unwrap().len(), 1);
        assert_eq!(load("").targets(&generate::path(3)).unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let shape = generate::star(70);
        let targets = load("").targets(&shape).unwrap();
        let refused = |line: &str| load(line).settings(&targets).unwrap_err().to_string();
        assert_eq!(refused("--nodes-per-task 1,33"), "--nodes-per-task is 33; choose 1 to 32");
        assert_eq!(refused("--nodes-per-task 0"), "--nodes-per-task is 0; choose 1 to 32");
        assert_eq!(refused("--reads 101"), "--reads is 101; choose 0 to 100");
        assert_eq!(refused("--skew 0"), "--skew is 0; choose 1 to 16");
        assert!(
            refused("--nodes-per-task 2,9 --near 8").starts_with("--near is 8: a task that names 9 nodes")
        );
        let few = load("").targets(&generate::star(3)).unwrap();
        assert!(load("").settings(&few).unwrap_err().to_string().contains("there are 2 to choose from"));
        let none = load("--smallest 2 --largest 60").targets(&shape).unwrap_err().to_string();
        assert_eq!(none, "--smallest 2 --largest 60: no node has a sub-tree of so many nodes");
    }
}
