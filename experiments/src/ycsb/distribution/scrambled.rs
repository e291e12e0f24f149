//! Zipf's distribution, with the frequent records strewn over the whole key space.

use super::{Random, Zipfian};

/// How many items YCSB draws from before scrambling, whatever the number of records.
const ITEMS: u64 = 10_000_000_000;

/// Draws from Zipf's distribution over ten billion items and folds them into `0..records` by a hash, as YCSB's
/// `ScrambledZipfianGenerator` does: which records are frequent does not depend on their order.
#[derive(Clone, Debug)]
pub struct Scrambled {
    zipfian: Zipfian,
    records: u64,
}

impl Scrambled {
    /// A distribution over `0..records`, which must not be empty.
    pub fn new(records: u64, theta: f64) -> Self {
        assert!(records > 0, "options were checked before any work");
        Self { zipfian: Zipfian::new(ITEMS, theta), records }
    }

    /// Draws a record.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        fnv_hash(self.zipfian.draw(random)) % self.records
    }
}

/// YCSB's `fnvhash64`: FNV-1a over the eight bytes, low ones first, and then the absolute value of the signed number.
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
        // FNV-1a of eight zero bytes is a well-known number; as a signed one it is negative.
        assert_eq!(fnv_hash(0), 0xa8c7_f832_281a_39c5u64.wrapping_neg());
    }

    #[test]
    fn the_most_frequent_record_is_as_frequent_as_it_should_be() {
        let (records, draws) = (1_000_000, 1_000_000u32);
        let scrambled = Scrambled::new(records, 0.99);
        let mut random = Random::new(3, &[]);
        let mut seen = std::collections::HashMap::new();
        for _ in 0..draws {
            *seen.entry(scrambled.draw(&mut random)).or_insert(0u32) += 1;
        }
        let first = seen[&(fnv_hash(0) % records)];
        let expected = f64::from(draws) / zeta(ITEMS, 0.99);
        assert!((f64::from(first) - expected).abs() < 0.03 * expected, "{first} instead of {expected}");
        assert_eq!(seen.values().max(), Some(&first));
        assert!(seen.keys().all(|record| *record < records));
        // Ten billion items folded into a million records: a good part of them is met at least once.
        assert!(seen.len() > 200_000, "{}", seen.len());
    }
}
