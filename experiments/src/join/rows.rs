//! The two sides of the join, and the expected result.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::Add;
use xtasking_harness::random::{Random, mix};

/// A row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinRow {
    /// The key; not 0.
    pub key: u64,
    /// The payload.
    pub payload: u64,
}

/// The result of a join: all contenders give the same one, in whatever order they join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matches {
    /// The number of pairs of rows with the same key.
    pub count: u64,
    /// The sum of both payloads of all pairs, modulo 2⁶⁴.
    pub sum: u64,
}

impl Matches {
    /// Returns the result of one probing row: `build` is the payload of its match.
    #[inline(always)]
    pub fn of(probe: JoinRow, build: Option<u64>) -> Self {
        build.map_or_else(Self::default, |build| Self { count: 1, sum: build.wrapping_add(probe.payload) })
    }
}

impl Add for Matches {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { count: self.count + other.count, sum: self.sum.wrapping_add(other.sum) }
    }
}

impl Sum for Matches {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::add)
    }
}

/// The two sides of a join.
pub struct Sides {
    /// The rows that a table is built of, with unique keys.
    pub build: Vec<JoinRow>,
    /// The rows that are looked up in it.
    pub probe: Vec<JoinRow>,
}

/// Rows of each side of a join that comes before the measurement, to warm up threads and heaps.
pub const WARM_UP_ROWS: usize = 10_000;

/// Of this many probing rows, one has no match on average.
const MISS_INTERVAL: u64 = 10;

impl Sides {
    /// Creates two sides, and their join as it follows from how they are drawn, without a table.
    pub fn new(build: usize, probe: usize, seed: u64) -> (Self, Matches) {
        // The key and the payload of a number; numbers are mixed, so that keys are in no order.
        let row = |number: u64| JoinRow { key: mix(number + 1), payload: mix(!number) };
        let mut random = Random::new(seed, &[]);
        let mut expected = Matches::default();
        let build_count = build as u64;
        let mut draw = |number: u64| {
            let drawn = random.below(build_count);
            let is_miss = random.below(MISS_INTERVAL) == 0;
            let probe =
                JoinRow { key: mix(1 + drawn + if is_miss { build_count } else { 0 }), payload: number };
            let found = (!is_miss).then(|| row(drawn).payload);
            expected = expected + Matches::of(probe, found);
            probe
        };
        let probe = (0..probe as u64).map(&mut draw).collect();
        (Self { build: (0..build_count).map(row).collect(), probe }, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn the_expected_result_is_that_of_a_simple_join() {
        for (build, probe) in [(1, 100), (1000, 10_000)] {
            let (sides, expected) = Sides::new(build, probe, 3);
            let table: HashMap<_, _> = sides.build.iter().map(|row| (row.key, row.payload)).collect();
            assert!(table.len() == build && !table.contains_key(&0));
            let matches = sides.probe.iter().map(|row| Matches::of(*row, table.get(&row.key).copied()));
            assert_eq!(matches.sum::<Matches>(), expected);
            let share = expected.count as f64 / probe as f64;
            assert!((0.8..0.98).contains(&share), "{share}");
        }
    }
}
