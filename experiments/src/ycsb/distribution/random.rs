//! The source of all chance: one generator for each worker of each run, all derived from one seed.

use crate::ycsb::keyspace::mix;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A seeded stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of a seed and of what it is used for; every path is a stream of its own.
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let seed = path.iter().fold(mix(seed), |state, step| mix(state ^ step.wrapping_add(1)));
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number in `0..1`.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        // 53 random bits: as many as the mantissa holds.
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number in `0..end`, which must not be empty.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        debug_assert!(end > 0);
        // Multiplying instead of dividing; the bias is below end / 2^64 and of no consequence for a benchmark.
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }
}
