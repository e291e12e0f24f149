//! The workloads with a scope for each node, which spawns its children. There is no sort among
//! them, as a sort always has two parts.

use super::tree::Node;
use super::workload::Problem;
use xtasking::Fork;

/// A node of a workload that counts or adds up.
trait Branch: Sized + Send + Sync {
    /// Returns what the node itself adds to the sum.
    fn value(&self) -> u64;

    /// Returns the children.
    fn children(&self) -> impl Iterator<Item = Self>;
}

impl Branch for Node {
    fn value(&self) -> u64 {
        1
    }

    fn children(&self) -> impl Iterator<Item = Self> {
        (0..Node::children(self)).map(|number| self.child(number))
    }
}

/// A board with queens in some rows.
struct Board {
    all: u32,
    /// The columns that are attacked in the next row: straight down, to the left and to the right.
    attacked: [u32; 3],
}

impl Board {
    fn empty(queens: u32) -> Self {
        Self { all: (1 << queens) - 1, attacked: [0; 3] }
    }
}

impl Branch for Board {
    fn value(&self) -> u64 {
        u64::from(self.attacked[0] == self.all)
    }

    fn children(&self) -> impl Iterator<Item = Self> {
        let &Self { all, attacked: [down, left, right] } = self;
        let free = all & !(down | left | right);
        let columns = (0..u32::BITS).map(|number| 1 << number).filter(move |column| free & column != 0);
        columns.map(move |column| Self {
            all,
            attacked: [down | column, (left | column) << 1, (right | column) >> 1],
        })
    }
}

/// Leaves with consecutive numbers.
struct Leaves {
    first: u64,
    count: u64,
}

impl Branch for Leaves {
    fn value(&self) -> u64 {
        if self.count == 1 { self.first } else { 0 }
    }

    fn children(&self) -> impl Iterator<Item = Self> {
        let (first, count) = (self.first, self.count / 10);
        let children = if count == 0 { 0 } else { 10 };
        (0..children).map(move |child| Self { first: first + child * count, count })
    }
}

fn sum_own<B: Branch>(node: &B, mut cx: Fork<'_>) -> u64 {
    let children: Vec<B> = node.children().collect();
    if children.is_empty() {
        return node.value();
    }
    let mut sums = vec![0; children.len()];
    cx.scope(|scope| {
        for (child, sum) in children.iter().zip(&mut sums) {
            scope.spawn(move |cx| *sum = sum_own(child, cx));
        }
    });
    node.value() + sums.iter().sum::<u64>()
}

fn sum_rayon<B: Branch>(node: &B) -> u64 {
    let children: Vec<B> = node.children().collect();
    if children.is_empty() {
        return node.value();
    }
    let mut sums = vec![0; children.len()];
    rayon::scope(|scope| {
        for (child, sum) in children.iter().zip(&mut sums) {
            scope.spawn(move |_| *sum = sum_rayon(child));
        }
    });
    node.value() + sums.iter().sum::<u64>()
}

/// Solves a problem by this runtime, and returns the number that it asks for.
pub(super) fn on_own(problem: &Problem, cx: Fork<'_>) -> u64 {
    match problem {
        Problem::Tree(depth) => sum_own(&Node::root(*depth), cx),
        Problem::Queens(queens) => sum_own(&Board::empty(*queens), cx),
        Problem::Skynet(leaves) => sum_own(&Leaves { first: 0, count: *leaves }, cx),
        Problem::Sort(_) => unreachable!("no scope sorts"),
    }
}

/// Solves a problem by rayon, and returns the number that it asks for.
pub(super) fn on_rayon(problem: &Problem) -> u64 {
    match problem {
        Problem::Tree(depth) => sum_rayon(&Node::root(*depth)),
        Problem::Queens(queens) => sum_rayon(&Board::empty(*queens)),
        Problem::Skynet(leaves) => sum_rayon(&Leaves { first: 0, count: *leaves }),
        Problem::Sort(_) => unreachable!("no scope sorts"),
    }
}
