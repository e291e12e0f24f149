//! Defines the probabilities of operations.

use super::operations::{Category, Operation};
use super::world::Mode;
use clap::ValueEnum;
use xtasking_harness::random::Random;

/// The share of read-only operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// 90%.
    ReadDominated,
    /// 60%.
    ReadWrite,
    /// 10%.
    WriteDominated,
}

impl Workload {
    /// All workloads.
    pub const ALL: [Self; 3] = [Self::ReadDominated, Self::ReadWrite, Self::WriteDominated];

    /// Returns the name of the workload.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadDominated => "read-dominated",
            Self::ReadWrite => "read-write",
            Self::WriteDominated => "write-dominated",
        }
    }

    fn reads(self) -> f64 {
        match self {
            Self::ReadDominated => 0.9,
            Self::ReadWrite => 0.6,
            Self::WriteDominated => 0.1,
        }
    }
}

/// Which long traversals run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Long {
    /// None.
    None,
    /// Only those that read.
    Reading,
    /// All.
    All,
}

/// Operations with their probabilities.
#[derive(Clone, Debug)]
pub struct Mix {
    probabilities: [f64; Operation::ALL.len()],
    /// Cumulative probabilities in the order of operations; 1 from the last possible one on.
    sums: [f64; Operation::ALL.len()],
}

impl Mix {
    /// Creates the mix of a workload.
    ///
    /// Of 100 operations 5 are long traversals, 40 short ones, 45 single operations, and 10
    /// structural changes, but of these only the workload's share of writes. The probabilities are
    /// then scaled to add up to 1.
    pub fn new(workload: Workload, long: Long, structural: bool) -> Self {
        let share = |category, mode| match category {
            Category::Long if long == Long::None || (long, mode) == (Long::Reading, Mode::Write) => 0.0,
            Category::Long => 5.0,
            Category::Short => 40.0,
            Category::Single => 45.0,
            Category::Structural => f64::from(u8::from(structural)) * 10.0,
        };
        let kind = |operation: Operation| (operation.category(), operation.mode());
        let weight = |operation: Operation| {
            let alike = Operation::ALL.iter().filter(|&&other| kind(other) == kind(operation)).count();
            let (category, mode) = kind(operation);
            let part = if mode == Mode::Read { workload.reads() } else { 1.0 - workload.reads() };
            share(category, mode) * part / alike as f64
        };
        let weights = Operation::ALL.map(weight);
        let all: f64 = weights.iter().sum();
        let probabilities = weights.map(|weight| weight / all);
        let mut sum = 0.0;
        let mut sums = probabilities.map(|probability| {
            sum += probability;
            sum
        });
        // Keeps rounding errors from making the last operation impossible.
        let last = probabilities
            .iter()
            .rposition(|&probability| probability > 0.0)
            .expect("some operations are possible");
        sums[last..].fill(1.0);
        Self { probabilities, sums }
    }

    /// Returns the probability of an operation.
    pub fn probability(&self, operation: Operation) -> f64 {
        self.probabilities[operation as usize]
    }

    /// Draws an operation.
    pub fn draw(&self, random: &mut Random) -> Operation {
        let at = random.fraction();
        Operation::ALL[self.sums.partition_point(|&sum| sum <= at)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(mix: &Mix, of: impl Fn(Operation) -> bool) -> f64 {
        Operation::ALL
            .into_iter()
            .filter(|&operation| of(operation))
            .map(|operation| mix.probability(operation))
            .sum()
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn the_number_of_operations_is_as_described() {
        let count = |category, mode| {
            let alike = |operation: &&Operation| (operation.category(), operation.mode()) == (category, mode);
            Operation::ALL.iter().filter(alike).count()
        };
        let counts =
            Category::ALL.map(|category| (count(category, Mode::Read), count(category, Mode::Write)));
        assert_eq!(counts, [(5, 7), (6, 4), (8, 7), (0, 8)]);
    }

    #[test]
    fn shares_are_as_described() {
        for workload in Workload::ALL {
            let writes = 1.0 - workload.reads();
            for (long, structural) in [(true, true), (true, false), (false, true), (false, false)] {
                let all = if long { Long::All } else { Long::None };
                let mix = Mix::new(workload, all, structural);
                let shares = [
                    5.0 * f64::from(u8::from(long)),
                    40.0,
                    45.0,
                    10.0 * writes * f64::from(u8::from(structural)),
                ];
                let all: f64 = shares.iter().sum();
                for (category, share) in Category::ALL.into_iter().zip(shares) {
                    near(sum(&mix, |operation| operation.category() == category), share / all);
                }
                near(sum(&mix, |_| true), 1.0);
                near(
                    sum(&mix, |operation| operation.mode() == Mode::Read),
                    (all - shares[3]) * workload.reads() / all,
                );
            }
        }
        // Without those that write, the rest is scaled: 3 + 40 + 45 + 4.
        let reading = Mix::new(Workload::ReadWrite, Long::Reading, true);
        near(reading.probability(Operation::T1), 3.0 / 92.0 / 5.0);
        near(reading.probability(Operation::T2a), 0.0);
        near(sum(&reading, |_| true), 1.0);
        // By hand: 5 + 40 + 45 are 90, and of 10 structural changes 4 remain.
        near(Mix::new(Workload::ReadWrite, Long::All, true).probability(Operation::SM1), 4.0 / 94.0 / 8.0);
        near(
            Mix::new(Workload::ReadWrite, Long::All, false).probability(Operation::T1),
            0.05 * 0.6 / 5.0 / 0.9,
        );
    }

    #[test]
    fn operations_are_drawn_with_their_probabilities() {
        let mix = Mix::new(Workload::WriteDominated, Long::None, true);
        let (mut random, mut counts) = (Random::new(3, &[]), [0u32; Operation::ALL.len()]);
        const DRAWS: u32 = 200_000;
        (0..DRAWS).for_each(|_| counts[mix.draw(&mut random) as usize] += 1);
        for (operation, count) in Operation::ALL.into_iter().zip(counts) {
            let expected = mix.probability(operation) * f64::from(DRAWS);
            // Six standard deviations.
            assert!(
                (f64::from(count) - expected).abs() <= 6.0 * expected.sqrt(),
                "{operation:?}: {count}, not {expected}"
            );
        }
    }
}
