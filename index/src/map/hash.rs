//! Hashes of keys, and the bucket of a hash.

use core::cell::Cell;
use core::hint::select_unpredictable;
use std::hash::{BuildHasher, RandomState};

/// Multipliers of simulations, whose runs can be repeated: the fractions of the golden ratio and of
/// the square root of 3.
const FIXED: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xbb67_ae85_84ca_a73b];

/// A hash function that can be inverted, so that hashes stand for their keys.
///
/// Two multiplications by odd numbers, each followed by a shift that brings the upper bits down.
/// The multipliers are random: a choice of keys that collide in one map does not in another one.
#[derive(Clone, Copy)]
pub(super) struct Mixer {
    first: u64,
    second: u64,
}

impl Mixer {
    /// Creates a function with random multipliers, or the fixed one.
    pub(super) fn new(is_random: bool) -> Self {
        let [first, second] = if is_random {
            let state = RandomState::new();
            [state.hash_one(1), state.hash_one(2)]
        } else {
            FIXED
        };
        Self { first: first | 1, second: second | 1 }
    }

    /// Returns the hash of a key.
    #[inline(always)]
    pub(super) fn hash(self, key: u64) -> u64 {
        fold(fold(key.wrapping_mul(self.first)).wrapping_mul(self.second))
    }

    /// Returns the function that returns keys of hashes.
    pub(super) fn inverse(self) -> Inverse {
        Inverse { first: inverse_of(self.first), second: inverse_of(self.second) }
    }
}

/// The inverse of a [`Mixer`].
#[derive(Clone, Copy)]
pub(super) struct Inverse {
    first: u64,
    second: u64,
}

impl Inverse {
    /// Returns the key of a hash.
    #[inline(always)]
    pub(super) fn key(self, hash: u64) -> u64 {
        fold(fold(hash).wrapping_mul(self.second)).wrapping_mul(self.first)
    }
}

/// Brings the upper half down. This is its own inverse.
#[inline(always)]
const fn fold(word: u64) -> u64 {
    word ^ (word >> 32)
}

/// Returns the inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the
/// number of right bits, of which there are 3 at first.
const fn inverse_of(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut bits = 3;
    while bits < 64 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
}

/// Returns the number of a hash's lowest bits that its bucket stands for, by the bucket's index:
/// the depth of the bucket.
#[inline(always)]
pub(super) fn depth(bucket: usize, buckets: usize) -> u32 {
    let level = buckets.ilog2();
    // Split already, or split off.
    level + u32::from((bucket & !(1 << level)) + (1 << level) < buckets)
}

/// Returns the bucket of a hash among a number of buckets.
#[inline(always)]
pub(super) fn bucket_of(hash: u64, buckets: usize) -> usize {
    let half = 1usize << buckets.ilog2();
    let bucket = hash as usize & (2 * half - 1);
    if bucket < buckets { bucket } else { bucket - half }
}

/// Divides many hashes among buckets, by the masks that [`bucket_of`] computes for each of them.
#[derive(Default)]
pub(super) struct Division(Cell<Masks>);

#[derive(Clone, Copy, Default)]
struct Masks {
    /// The number of buckets that these are for.
    buckets: usize,
    /// The bits of a hash that are the index of its bucket, if there is such a bucket.
    all: usize,
    /// The bits that are its index otherwise: all but the highest of them.
    lower: usize,
}

impl Division {
    /// Returns the bucket of a hash among a number of buckets, which seldom changes.
    #[inline(always)]
    pub(super) fn bucket_of(&self, hash: u64, buckets: usize) -> usize {
        if self.0.get().buckets != buckets {
            self.update(buckets);
        }
        let Masks { all, lower, .. } = self.0.get();
        let bucket = hash as usize & all;
        // Without a branch, which could not be predicted.
        select_unpredictable(bucket < buckets, bucket, bucket & lower)
    }

    #[cold]
    #[inline(never)]
    fn update(&self, buckets: usize) {
        let lower = (1 << buckets.ilog2()) - 1;
        self.0.set(Masks { buckets, all: 2 * lower + 1, lower });
    }
}

/// Returns the bucket that is split when `buckets` becomes one more.
pub(super) fn next_to_split(buckets: usize) -> usize {
    buckets - (1 << buckets.ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_stand_for_their_keys() {
        for mixer in [Mixer::new(false), Mixer::new(true), Mixer::new(true)] {
            let inverse = mixer.inverse();
            for key in [0, 1, u64::MAX, 1 << 63, 0x1234_5678_9abc_def0].into_iter().chain(0..1000) {
                assert_eq!(inverse.key(mixer.hash(key)), key);
            }
        }
    }

    #[test]
    fn random_functions_differ() {
        let [one, other] = [Mixer::new(true), Mixer::new(true)];
        assert_ne!(one.hash(1), other.hash(1));
    }

    #[test]
    fn neighbouring_keys_fill_all_buckets_alike() {
        // With 100 keys a bucket, the standard deviation is 10.
        for stride in [1, 8, 4096, 1 << 32] {
            let mut counts = [0; 1024];
            (0..102_400).for_each(|key| counts[bucket_of(Mixer::new(false).hash(key * stride), 1024)] += 1);
            assert!(counts.iter().all(|count| (40..160).contains(count)), "stride {stride}");
        }
    }

    #[test]
    fn a_bucket_has_the_hashes_that_end_in_its_index() {
        let division = Division::default();
        for buckets in 64..600 {
            for hash in (0..5000).chain(u64::MAX - 500..=u64::MAX) {
                let bucket = bucket_of(hash, buckets);
                assert!(bucket < buckets);
                assert_eq!(division.bucket_of(hash, buckets), bucket);
                let depth = depth(bucket, buckets);
                assert_eq!(hash & ((1 << depth) - 1), bucket as u64, "{hash} of {buckets}");
            }
        }
    }

    #[test]
    fn a_new_bucket_takes_the_hashes_of_one_bucket_only() {
        for buckets in 64..300 {
            let split = next_to_split(buckets);
            for hash in 0..5000 {
                let (before, after) = (bucket_of(hash, buckets), bucket_of(hash, buckets + 1));
                assert!(after == before || (before, after) == (split, buckets), "{hash} of {buckets}");
            }
        }
    }
}
