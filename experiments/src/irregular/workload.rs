//! The workloads, and the check of their outcomes.

use super::plain;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use xtasking_harness::failure::Wrong;

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    Tree,
    Queens,
    Skynet,
    Sort,
}

impl Workload {
    pub(super) const ALL: [Self; 4] = [Self::Tree, Self::Queens, Self::Skynet, Self::Sort];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Queens => "queens",
            Self::Skynet => "skynet",
            Self::Sort => "sort",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Tree => "UTS: counts the nodes of a geometric tree, whose SHA-1 states decide its shape",
            Self::Queens => "counts the ways to place queens that do not attack each other",
            Self::Skynet => "adds up the numbers of the leaves of a tree with ten children a node",
            Self::Sort => "quicksort of random integers",
        }
    }
}

/// A workload of a certain size, for one run.
#[derive(Clone, Debug)]
pub(super) enum Problem {
    /// The depth of the tree.
    Tree(u32),
    /// The number of queens.
    Queens(u32),
    /// The number of leaves, a power of ten.
    Skynet(u64),
    /// The integers.
    Sort(Vec<u64>),
}

/// The outcome that a run must have.
pub(super) enum Expected {
    Number(u64),
    Sorted(Vec<u64>),
}

/// The largest tree is one that UTS publishes, as T1.
const T1: (u32, u64) = (10, 4_130_071);
/// The numbers of ways to place queens, from 0 queens on.
const WAYS: [u64; 16] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596, 2_279_184];

impl Problem {
    /// Creates a number of random integers to sort.
    pub(super) fn random_integers(items: u64, seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        Self::Sort((0..items).map(|_| random.next_u64()).collect())
    }

    /// Finds out what the outcome must be: from what is known, or else by the plain program.
    pub(super) fn expected(&self) -> Expected {
        match self {
            Self::Tree(depth) if *depth == T1.0 => Expected::Number(T1.1),
            Self::Tree(depth) => Expected::Number(plain::tree(*depth)),
            Self::Queens(queens) => Expected::Number(WAYS[*queens as usize]),
            Self::Skynet(leaves) => Expected::Number(leaves * (leaves - 1) / 2),
            Self::Sort(items) => {
                let mut sorted = items.clone();
                sorted.sort();
                Expected::Sorted(sorted)
            }
        }
    }

    /// Checks the outcome: the number that a run returned, and the order of sorted integers.
    ///
    /// # Errors
    ///
    /// If it is not the expected one.
    pub(super) fn check(&self, number: u64, expected: &Expected) -> Result<(), Wrong> {
        match (self, expected) {
            (Self::Sort(items), Expected::Sorted(sorted)) if items == sorted => Ok(()),
            (Self::Sort(_), _) => Err(Wrong::new("the integers are not sorted".to_string())),
            (_, Expected::Number(expected)) if number == *expected => Ok(()),
            (_, Expected::Number(expected)) => Err(Wrong::new(format!("{number} instead of {expected}"))),
            (_, Expected::Sorted(_)) => Err(Wrong::new("the outcome is of another workload".to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_outcomes_are_found() {
        let queens = Problem::Queens(6);
        assert!(queens.check(4, &queens.expected()).is_ok());
        assert!(queens.check(5, &queens.expected()).is_err());
        let mut sort = Problem::random_integers(100, 1);
        let expected = sort.expected();
        assert!(sort.check(0, &expected).is_err());
        let Problem::Sort(items) = &mut sort else { unreachable!() };
        items.sort();
        assert!(sort.check(0, &expected).is_ok());
        let Problem::Sort(items) = &mut sort else { unreachable!() };
        items[7] = items[8];
        assert!(sort.check(0, &expected).is_err());
    }
}
