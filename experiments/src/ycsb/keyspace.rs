//! Which key a record has, and what a value says about its key.
//!
//! Records are numbered from zero. A key is a bijection of the record number, so a key met anywhere tells its record
//! without a table. A value carries the signature of its key and the sequence number of the request that wrote it:
//! a value that is wrong, misplaced, torn or older than it should be is recognised wherever it turns up.

/// In which order of keys the records are inserted (YCSB's `insertorder`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertOrder {
    /// Keys are a mixture of the record number and the seed, spread over all 64 bits.
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

// The finalizer of SplitMix64 (Stafford's variant 13): every input bit reaches every output bit, and it can be undone.
const MULTIPLIER_1: u64 = 0xbf58_476d_1ce4_e5b9;
const MULTIPLIER_2: u64 = 0x94d0_49bb_1331_11eb;
const INVERSE_1: u64 = 0x96de_1b17_3f11_9089;
const INVERSE_2: u64 = 0x3196_42b2_d24d_8ec3;

/// Mixes all bits of `x`; a bijection.
#[inline]
pub(crate) const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(MULTIPLIER_1);
    x = (x ^ (x >> 27)).wrapping_mul(MULTIPLIER_2);
    x ^ (x >> 31)
}

/// Undoes [`mix`].
const fn unmix(mut x: u64) -> u64 {
    x = (x ^ (x >> 31) ^ (x >> 62)).wrapping_mul(INVERSE_2);
    x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(INVERSE_1);
    x ^ (x >> 30) ^ (x >> 60)
}

impl Keyspace {
    /// The key space of a seed: another seed gives other keys (unless they are ordered).
    pub const fn new(order: InsertOrder, seed: u64) -> Self {
        Self { order, offset: mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)) }
    }

    /// The key of a record.
    #[inline]
    pub const fn key(&self, record: u64) -> u64 {
        match self.order {
            InsertOrder::Hashed => mix(record.wrapping_add(self.offset)),
            InsertOrder::Ordered => record,
        }
    }

    /// The record of a key. A key that belongs to no record gives a number beyond the last one.
    #[inline]
    pub const fn record(&self, key: u64) -> u64 {
        match self.order {
            InsertOrder::Hashed => unmix(key).wrapping_sub(self.offset),
            InsertOrder::Ordered => key,
        }
    }
}

/// What every value of a key begins with: 32 bits that depend on the whole key.
#[inline]
pub const fn signature(key: u64) -> u32 {
    // The addition keeps key zero from having signature zero, which a zeroed value would carry too.
    ((key ^ (key >> 29)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32
}

/// The value that the request with this sequence number writes at this key.
#[inline]
pub const fn stamp(key: u64, sequence: u32) -> u64 {
    (signature(key) as u64) << 32 | sequence as u64
}

/// The sequence number in a value of this key, or nothing if the value does not belong to the key.
#[inline]
pub const fn sequence(key: u64, value: u64) -> Option<u32> {
    if (value >> 32) as u32 == signature(key) { Some(value as u32) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_back_to_their_records() {
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
    fn another_seed_gives_other_keys() {
        let [a, b] = [1, 2].map(|seed| Keyspace::new(InsertOrder::Hashed, seed));
        assert!((0..1_000).all(|record| a.key(record) != b.key(record)));
    }

    #[test]
    fn a_value_belongs_to_its_key_only() {
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
