//! Zipf's distribution with the frequent records spread over the key space.

use super::Zipfian;
use xtasking_harness_core::random::Random;

/// The number of items that YCSB draws from before scrambling, for any number of records.
const ITEM_COUNT: u64 = 10_000_000_000;

/// Draws from Zipf's distribution over ten billion items, and maps them to `0..records` by a hash,
/// as YCSB's `ScrambledZipfianGenerator` does. The frequency of a record does not depend on its
/// number.
#[derive(Clone, Debug)]
pub struct Scrambled {
    zipfian: Zipfian,
    records: u64,
}

impl Scrambled {
    /// Creates a distribution over `0..records`.
    ///
    /// # Panics
    ///
    /// If it is empty, or `theta` is not between 0 and 1.
    pub fn new(records: u64, theta: f64) -> Self {
        assert!(records > 0, "a distribution needs a record");
        Self { zipfian: Zipfian::new(ITEM_COUNT, theta), records }
    }

    /// Draws a record.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        fnv_hash(self.zipfian.draw(random)) % self.records
    }
}

/// Computes YCSB's `fnvhash64`: the absolute value, as a signed number, of FNV-1a over the eight
/// bytes, low ones first.
fn fnv_hash(value: u64) -> u64 {
    let hash = value
        .to_le_bytes()
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash as i64).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::super::zipfian::zeta;
    use super::*;

    #[test]
    fn the_hash_is_that_of_ycsb() {
        // FNV-1a of eight zero bytes is a well-known number; as a signed number it is negative.
        assert_eq!(fnv_hash(0), 0xa8c7_f832_281a_39c5u64.wrapping_neg());
    }

    #[test]
    fn the_most_frequent_record_has_its_frequency() {
        let (records, draws) = (1_000_000, 1_000_000u32);
        let scrambled = Scrambled::new(records, 0.99);
        let mut random = Random::new(3, &[]);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..draws {
            *counts.entry(scrambled.draw(&mut random)).or_insert(0u32) += 1;
        }
        let first = counts[&(fnv_hash(0) % records)];
        let expected = f64::from(draws) / zeta(ITEM_COUNT, 0.99);
        assert!((f64::from(first) - expected).abs() < 0.03 * expected, "{first} instead of {expected}");
        assert_eq!(counts.values().max(), Some(&first));
        assert!(counts.keys().all(|record| *record < records));
        // Ten billion items map to a million records, many of which are drawn at least once.
        assert!(counts.len() > 200_000, "{}", counts.len());
    }
}
