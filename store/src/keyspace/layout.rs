//! In which shard a key lies.

use ahash::RandomState;
use std::hash::{BuildHasher, Hasher};

/// The hash function of a store, and the number of its shards.
///
/// A hash of 64 bits has three uses: bits 8 to 39 find the segment of a table and are the order of
/// SCAN, bits 40 to 56 find the shard, and the others find the entry in its segment.
#[derive(Clone, Debug)]
pub struct Layout {
    random: RandomState,
    shards: usize,
}

/// The most shards: more bits are not left for them.
const MOST_SHARDS: usize = 1 << 17;

impl Layout {
    /// Makes a layout of a power of two of shards.
    ///
    /// # Panics
    ///
    /// If the number is no power of two, or above 131,072.
    pub fn new(shards: usize, seed: u64) -> Self {
        assert!(shards.is_power_of_two() && shards <= MOST_SHARDS, "{shards} is no number of shards");
        let seeds = [seed, seed.rotate_left(16), seed.rotate_left(32), seed.rotate_left(48)];
        let random =
            RandomState::with_seeds(seeds[0], !seeds[1], seeds[2] ^ 0x9e37_79b9_7f4a_7c15, !seeds[3]);
        Self { random, shards }
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> usize {
        self.shards
    }

    /// Returns the hash of a key.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.random.build_hasher();
        hasher.write(key);
        hasher.finish()
    }

    /// Returns the shard of a key with this hash.
    #[inline]
    pub fn shard_of(&self, hash: u64) -> usize {
        (hash >> 40) as usize & (self.shards - 1)
    }

    /// Returns the shard of a key.
    pub fn shard(&self, key: &[u8]) -> usize {
        self.shard_of(self.hash(key))
    }
}
