//! Random number streams: one for each worker of each run, all derived from one seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A seeded stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Creates the stream of a seed and a path; different paths give independent streams.
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let seed = path.iter().fold(mix(seed), |state, step| mix(state ^ step.wrapping_add(1)));
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Draws a number in `0..1`.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        // 53 random bits: the size of the significand.
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws a number in `0..end`; `end` must be greater than 0.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        debug_assert!(end > 0);
        // Lemire's multiplication instead of a division. The bias is below end / 2^64, which does
        // not matter in a benchmark.
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }
}

// The finalizer of SplitMix64 (Stafford's variant 13): every input bit affects every output bit,
// and it is a bijection.
const MULTIPLIER_1: u64 = 0xbf58_476d_1ce4_e5b9;
const MULTIPLIER_2: u64 = 0x94d0_49bb_1331_11eb;

/// Mixes the bits of `x`; a bijection.
#[inline]
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(MULTIPLIER_1);
    x = (x ^ (x >> 27)).wrapping_mul(MULTIPLIER_2);
    x ^ (x >> 31)
}
