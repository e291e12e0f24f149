//! Keys of records, and values that identify the request that wrote them.
//!
//! Records are numbered from zero. A bijection maps record numbers to keys, so the record of any
//! key can be computed. A value consists of the signature of its key and the sequence number of the
//! request that wrote it. A wrong, misplaced, torn or stale value is therefore recognised anywhere.

use xtasking_harness_core::random::mix;

/// The order of keys in which records are inserted (YCSB's `insertorder`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertOrder {
    /// Keys are hashes of the record number and the seed, spread over all 64 bits.
    Hashed,
    /// Keys are the record numbers.
    Ordered,
}

/// The bijection between record numbers and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyspace {
    order: InsertOrder,
    offset: u64,
}

// The inverses of the multipliers of `mix`.
const INVERSE_1: u64 = 0x96de_1b17_3f11_9089;
const INVERSE_2: u64 = 0x3196_42b2_d24d_8ec3;

/// Inverts [`mix`].
const fn unmix(mut x: u64) -> u64 {
    x = (x ^ (x >> 31) ^ (x >> 62)).wrapping_mul(INVERSE_2);
    x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(INVERSE_1);
    x ^ (x >> 30) ^ (x >> 60)
}

impl Keyspace {
    /// Creates the key space of a seed. Ordered keys do not depend on the seed.
    pub const fn new(order: InsertOrder, seed: u64) -> Self {
        Self { order, offset: mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)) }
    }

    /// Returns the key of a record.
    #[inline]
    pub const fn key(&self, record: u64) -> u64 {
        match self.order {
            InsertOrder::Hashed => mix(record.wrapping_add(self.offset)),
            InsertOrder::Ordered => record,
        }
    }

    /// Returns the record of a key; for a key that was never given out, a number beyond the last
    /// record.
    #[inline]
    pub const fn record(&self, key: u64) -> u64 {
        match self.order {
            InsertOrder::Hashed => unmix(key).wrapping_sub(self.offset),
            InsertOrder::Ordered => key,
        }
    }
}

/// Returns the upper half of every value of a key: 32 bits that depend on all bits of the key.
#[inline]
pub const fn signature(key: u64) -> u32 {
    // Without the addition key 0 would have signature 0, like a zeroed value.
    ((key ^ (key >> 29)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32
}

/// Returns the value that the request with a sequence number writes to a key.
#[inline]
pub const fn stamp(key: u64, sequence: u32) -> u64 {
    (signature(key) as u64) << 32 | sequence as u64
}

/// Returns the sequence number in a value, or `None` if the value does not belong to the key.
#[inline]
pub const fn sequence(key: u64, value: u64) -> Option<u32> {
    if (value >> 32) as u32 == signature(key) { Some(value as u32) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_its_record() {
        for order in [InsertOrder::Hashed, InsertOrder::Ordered] {
            for seed in [0, 1, 42, u64::MAX] {
                let keyspace = Keyspace::new(order, seed);
                for record in (0..10_000).chain([u64::MAX - 1, u64::MAX]) {
                    assert_eq!(keyspace.record(keyspace.key(record)), record);
                }
            }
        }
    }

    #[test]
    fn different_seeds_give_different_keys() {
        let [a, b] = [1, 2].map(|seed| Keyspace::new(InsertOrder::Hashed, seed));
        assert!((0..1_000).all(|record| a.key(record) != b.key(record)));
    }

    #[test]
    fn a_value_belongs_to_one_key_only() {
        let keyspace = Keyspace::new(InsertOrder::Hashed, 7);
        let ordered = Keyspace::new(InsertOrder::Ordered, 7);
        for space in [keyspace, ordered] {
            for record in 0..10_000 {
                let (key, other) = (space.key(record), space.key(record + 1));
                let value = stamp(key, record as u32);
                assert_eq!(sequence(key, value), Some(record as u32));
                assert_eq!(sequence(other, value), None, "record {record}");
                assert_eq!(sequence(key, value.rotate_left(8)), None, "record {record}");
            }
        }
    }
}
