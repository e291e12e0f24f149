//! Defines the options of the tasks.

use super::super::changes::Chances;
use super::{Targets, TaskSettings};
use clap::Args;
use std::fmt::Display;
use std::ops::RangeInclusive;
use xtasking_harness::failure::Failure;
use xtasking_hierarchy::Shape;

/// What the tasks name; lists are combined in all ways.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tasks")]
pub struct Load {
    /// Nodes that a task names
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "4")]
    #[arg(default_value_if("sweep", "nodes", "1,2,4,8,16,32"))]
    pub nodes_per_task: Vec<usize>,

    /// Percentage of tasks that read; the others write
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "70")]
    #[arg(default_value_if("sweep", "reads", "0,25,50,70,90,100"))]
    pub reads: Vec<u32>,

    /// Percentage of tasks that insert or remove nodes, or link and unlink them where nodes have
    /// several parents
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "0")]
    #[arg(default_value_if("sweep", "structural", "0,1,2,5,10"))]
    pub structural: Vec<u32>,

    /// Percentage of tasks that panic halfway, so that another task has to repair what they leave
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "0")]
    pub panics: Vec<u32>,

    /// Skew of the choice of nodes, from 1 (uniform) to 16
    #[arg(long, value_name = "INDEX,…", value_delimiter = ',', default_value = "1,8")]
    #[arg(default_value_if("sweep", "skew", "1,2,4,8,12,16"))]
    pub skew: Vec<u32>,

    /// Minimal number of nodes in the sub-tree of a named node
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub smallest: usize,

    /// Maximal number of nodes in the sub-tree of a named node [default: a 64th of all]
    #[arg(long, value_name = "N")]
    pub largest: Option<usize>,

    /// Draw the nodes of a task from a window of this many nodes in depth-first order [default:
    /// from all]
    #[arg(long, value_name = "N")]
    pub near: Option<usize>,
}

const NODES_PER_TASK: RangeInclusive<usize> = 1..=32;
const PERCENT: RangeInclusive<u32> = 0..=100;
const SKEW: RangeInclusive<u32> = 1..=16;
/// The default of `--largest` is all nodes divided by this.
const SHARE: usize = 64;

impl Load {
    /// Checks what can be checked before any work.
    ///
    /// # Errors
    /// A value is out of range, or `--near` is less than the number of nodes that a task names.
    pub fn check(&self) -> Result<(), Failure> {
        check_range("--nodes-per-task", &self.nodes_per_task, NODES_PER_TASK)?;
        check_range("--reads", &self.reads, PERCENT)?;
        check_range("--structural", &self.structural, PERCENT)?;
        check_range("--panics", &self.panics, PERCENT)?;
        check_range("--skew", &self.skew, SKEW)?;
        let max_nodes = self.max_nodes();
        if let Some(near) = self.near.filter(|&near| near < max_nodes) {
            let text =
                format!("--near is {near}; choose at least {max_nodes}, as tasks name that many nodes");
            return Err(Failure::Usage(text));
        }
        Ok(())
    }

    /// Returns the largest number of nodes that a task names.
    fn max_nodes(&self) -> usize {
        self.nodes_per_task.iter().copied().max().unwrap_or(0)
    }

    /// Returns the nodes that may be named.
    ///
    /// # Errors
    /// No node has a sub-tree of fitting size.
    pub fn targets(&self, shape: &Shape) -> Result<Targets, Failure> {
        let largest = self.largest.unwrap_or((shape.len() / SHARE).max(self.smallest).max(1));
        let targets = Targets::new(shape, self.smallest..=largest);
        if targets.is_empty() {
            let sizes = format!("--smallest {} --largest {largest}", self.smallest);
            return Err(Failure::Usage(format!(
                "{sizes}: no node has a sub-tree of such a size; widen the range"
            )));
        }
        Ok(targets)
    }

    /// Returns all combinations of structural changes and panics.
    pub(in super::super) fn chances(&self) -> Vec<Chances> {
        let of = |&structural| self.panics.iter().map(move |&panics| Chances { structural, panics });
        self.structural.iter().flat_map(of).collect()
    }

    /// Returns true if some tasks change the hierarchy or panic.
    pub fn has_changes(&self) -> bool {
        self.structural.iter().chain(&self.panics).any(|&percent| percent > 0)
    }

    /// Returns all combinations of settings: the skew varies slowest, and the nodes of a task
    /// fastest.
    ///
    /// # Errors
    /// A value is out of range, or there are fewer nodes to draw from than a task names.
    pub fn settings(&self, targets: &Targets) -> Result<Vec<TaskSettings>, Failure> {
        self.check()?;
        let max_nodes = self.max_nodes();
        if targets.len() < max_nodes {
            let text = format!(
                "--nodes-per-task {max_nodes} is too many, as there are {} nodes to choose from",
                targets.len()
            );
            return Err(Failure::Usage(text));
        }
        let mut all = Vec::new();
        for &skew in &self.skew {
            for &reads in &self.reads {
                let settings = |&nodes| TaskSettings { nodes, reads, skew, near: self.near };
                all.extend(self.nodes_per_task.iter().map(settings));
            }
        }
        Ok(all)
    }
}

/// Checks that the numbers given for `option` are in `range`.
///
/// # Errors
/// A number is out of range.
pub(in super::super) fn check_range<T: PartialOrd + Display>(
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
    fn lists_of_options_are_combined() {
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
        let default = TaskSettings { nodes: 4, reads: 70, skew: 1, near: None };
        assert_eq!(load("").settings(&targets).unwrap(), [default, TaskSettings { skew: 8, ..default }]);
    }

    #[test]
    fn the_largest_sub_tree_is_a_64th_of_all_nodes_by_default() {
        let shape = generate::path(6_400);
        assert_eq!(load("").targets(&shape).unwrap().len(), 100);
        assert_eq!(load("--largest 7").targets(&shape).unwrap().len(), 7);
        assert_eq!(load("--smallest 7 --largest 7").targets(&shape).unwrap().len(), 1);
        assert_eq!(load("").targets(&generate::path(3)).unwrap().len(), 1);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let shape = generate::star(70);
        let targets = load("").targets(&shape).unwrap();
        let refused = |line: &str| load(line).settings(&targets).unwrap_err().to_string();
        assert_eq!(refused("--nodes-per-task 1,33"), "--nodes-per-task is 33; choose 1 to 32");
        assert_eq!(refused("--nodes-per-task 0"), "--nodes-per-task is 0; choose 1 to 32");
        assert_eq!(refused("--reads 101"), "--reads is 101; choose 0 to 100");
        assert_eq!(refused("--skew 0"), "--skew is 0; choose 1 to 16");
        assert!(refused("--nodes-per-task 2,9 --near 8").starts_with("--near is 8; choose at least 9"));
        let few = load("").targets(&generate::star(3)).unwrap();
        assert!(
            load("").settings(&few).unwrap_err().to_string().contains("there are 2 nodes to choose from")
        );
        let none = load("--smallest 2 --largest 60").targets(&shape).unwrap_err().to_string();
        assert_eq!(none, "--smallest 2 --largest 60: no node has a sub-tree of such a size; widen the range");
    }
}
