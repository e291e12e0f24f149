//! Choices by seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub struct Random(Xoshiro256PlusPlus);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number that is at most `most`.
    pub fn up_to(&mut self, most: usize) -> usize {
        (self.0.next_u64() % (most as u64 + 1)) as usize
    }

    /// Returns true with a probability of `percent` percent.
    pub fn percent(&mut self, percent: u8) -> bool {
        self.0.next_u64() % 100 < u64::from(percent)
    }
}
