//! The workloads as joins, which divide them down to single nodes.

use super::fork_join::{ForkJoin, Piece};
use super::partition::{SMALL, partition};
use super::tree::Node;
use super::workload::Problem;

/// The unbalanced tree below a node, of which the nodes are counted.
struct Subtree(Node);

impl Piece for Subtree {
    type Output = u64;

    fn run(self, cx: impl ForkJoin) -> u64 {
        match self.0.children() {
            0 => 1,
            count => 1 + Children { of: &self.0, from: 0, to: count }.run(cx),
        }
    }
}

/// The subtrees of some children of a node, at least one.
struct Children<'a> {
    of: &'a Node,
    from: u32,
    to: u32,
}

impl Piece for Children<'_> {
    type Output = u64;

    fn run(self, cx: impl ForkJoin) -> u64 {
        let Self { of, from, to } = self;
        if from + 1 == to {
            return Subtree(of.child(from)).run(cx);
        }
        let middle = from.midpoint(to);
        cx.join(Children { of, from, to: middle }, Children { of, from: middle, to }, |a, b| a + b)
    }
}

/// A board with queens in some rows; the ways to fill the other rows are counted.
struct Board {
    all: u32,
    /// The columns that are attacked in the next row: straight down, to the left and to the right.
    down: u32,
    left: u32,
    right: u32,
}

impl Piece for Board {
    type Output = u64;

    fn run(self, cx: impl ForkJoin) -> u64 {
        if self.down == self.all {
            return 1;
        }
        let free = self.all & !(self.down | self.left | self.right);
        if free == 0 { 0 } else { Row { board: &self, free }.run(cx) }
    }
}

/// Some free columns of a board's next row, at least one.
struct Row<'a> {
    board: &'a Board,
    free: u32,
}

impl Piece for Row<'_> {
    type Output = u64;

    fn run(self, cx: impl ForkJoin) -> u64 {
        let Board { all, down, left, right } = *self.board;
        let column = self.free & self.free.wrapping_neg();
        let next =
            Board { all, down: down | column, left: (left | column) << 1, right: (right | column) >> 1 };
        match self.free ^ column {
            0 => next.run(cx),
            free => cx.join(next, Row { board: self.board, free }, |a, b| a + b),
        }
    }
}

/// Leaves with consecutive numbers: those of some children of a node, with `each` leaves.
struct Leaves {
    first: u64,
    children: u64,
    each: u64,
}

impl Piece for Leaves {
    type Output = u64;

    fn run(self, cx: impl ForkJoin) -> u64 {
        let Self { first, children, each } = self;
        match (children, each) {
            (1, 1) => first,
            (1, _) => Leaves { first, children: 10, each: each / 10 }.run(cx),
            _ => {
                let half = children / 2;
                let second = Leaves { first: first + half * each, children: children - half, each };
                cx.join(Leaves { first, children: half, each }, second, |a, b| a + b)
            }
        }
    }
}

/// Integers to sort.
struct Unsorted<'a>(&'a mut [u64]);

impl Piece for Unsorted<'_> {
    type Output = ();

    fn run(self, cx: impl ForkJoin) {
        if self.0.len() <= SMALL {
            return self.0.sort_unstable();
        }
        let (left, right) = partition(self.0);
        cx.join(Unsorted(left), Unsorted(right), |(), ()| ());
    }
}

/// Solves a problem, and returns the number that it asks for; 0 for a sort.
pub(super) fn solve(problem: &mut Problem, cx: impl ForkJoin) -> u64 {
    match problem {
        Problem::Tree(depth) => Subtree(Node::root(*depth)).run(cx),
        Problem::Queens(queens) => Board { all: (1 << *queens) - 1, down: 0, left: 0, right: 0 }.run(cx),
        Problem::Skynet(leaves) => Leaves { first: 0, children: 1, each: *leaves }.run(cx),
        Problem::Sort(items) => {
            Unsorted(items).run(cx);
            0
        }
    }
}
