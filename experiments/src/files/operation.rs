//! Operations on the file system, and their answers.

use super::layout::{Path, Place};

/// What an operation does with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Reads a file.
    Read,
    /// Adds one to a file.
    Write,
    /// Sums up a directory with all below it.
    Sum,
    /// Adds [`ROUND`] to a directory and to each node below it.
    Add,
    /// Moves a lowest directory, with its files, to [`Operation::to`].
    Move,
}

/// How an operation names its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// By the names from the root on.
    Path,
    /// By the number of the node, which a client has kept.
    Handle,
}

/// An operation on the file system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub action: Action,
    pub way: Way,
    /// The target. Its path may have become wrong meanwhile; its number is always right.
    pub target: Path,
    /// The target of a move. In other operations it has no meaning.
    pub to: Place,
}

/// What [`Action::Add`] adds: more than all that [`Action::Write`] adds to a sub-tree. So a value
/// says how often both were done.
pub(super) const ROUND: u64 = 1 << 32;

/// The answer to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The path leads nowhere, as the directory has moved meanwhile.
    Missed,
    /// The value of the file.
    Read(u64),
    /// One was added.
    Written,
    Sum(Sum),
    /// The number of nodes that were added to.
    Added(u32),
    Moved,
}

/// The sum of a sub-tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub nodes: u32,
    pub total: u64,
    /// The value of the topmost node, which was visited first.
    pub first: u64,
}

impl Operation {
    /// Returns the place that a move moves from.
    pub fn from(&self) -> Place {
        let names = self.target.names();
        Place { top: names[0], middle: names[1] }
    }

    /// Returns the name of the target in its directory.
    pub fn name(&self) -> u16 {
        self.target.names()[self.target.names().len() - 1]
    }

    /// Returns true if the operation changes nothing.
    pub fn only_reads(&self) -> bool {
        matches!(self.action, Action::Read | Action::Sum)
    }
}

impl Sum {
    /// Adds the value of a node.
    pub fn visit(&mut self, value: u64) {
        if self.nodes == 0 {
            self.first = value;
        }
        self.nodes += 1;
        self.total += value;
    }

    /// Returns true if not all nodes were added to equally often, so that the sum is not that of
    /// one moment.
    pub fn is_torn(&self) -> bool {
        self.total / ROUND != u64::from(self.nodes) * (self.first / ROUND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_two_moments_is_torn() {
        let of = |values: &[u64]| {
            let mut sum = Sum::default();
            values.iter().for_each(|&value| sum.visit(value));
            sum
        };
        let whole = of(&[3 * ROUND, 3 * ROUND + 7, 3 * ROUND + 1]);
        assert_eq!(whole, Sum { nodes: 3, total: 9 * ROUND + 8, first: 3 * ROUND });
        assert!(!whole.is_torn());
        assert!(of(&[3 * ROUND, 2 * ROUND + 7, 3 * ROUND + 1]).is_torn());
        assert!(of(&[2 * ROUND, 3 * ROUND, 3 * ROUND]).is_torn());
    }
}
