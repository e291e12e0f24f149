//! Queries by the one key that they ask for.

/// Groups of queries by key: a hash table, and before it a filter of bits, as most rows concern nobody.
#[derive(Debug, Default)]
pub(super) struct Points {
    /// A bit for each key that is asked for, and for others by chance.
    filter: Box<[u64]>,
    /// A key, and where its queries are; none for a free slot.
    slots: Box<[Slot]>,
    queries: Box<[u32]>,
    /// How far a hash is shifted to become a slot, and a bit of the filter.
    slot_shift: u32,
    bit_shift: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64,
    begin: u32,
    end: u32,
}

/// Bits of the filter for each key, and slots.
const BITS: usize = 16;
const SLOTS: usize = 2;

/// Multiplying by it mixes the lower bits of a key into the upper ones. (Knuth, volume 3, section 6.4: 2^64 by the golden
/// ratio.)
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn hash(key: u64) -> u64 {
    // Keys of one kind often differ in their upper bits alone.
    (key ^ key >> 32).wrapping_mul(MIX)
}

impl Points {
    /// Of pairs of a key and a query.
    pub fn new(mut pairs: Vec<(u64, u32)>) -> Self {
        if pairs.is_empty() {
            return Self::default();
        }
        pairs.sort_unstable();
        let keys = pairs.chunk_by(|a, b| a.0 == b.0).count();
        let slots = (keys * SLOTS).next_power_of_two().max(2);
        let bits = (keys * BITS).next_power_of_two().max(64);
        let mut points = Self {
            filter: vec![0; bits / 64].into(),
            slots: vec![Slot::default(); slots].into(),
            queries: pairs.iter().map(|&(_, query)| query).collect(),
            slot_shift: 64 - slots.ilog2(),
            bit_shift: 64 - bits.ilog2(),
        };
        let mut begin = 0;
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            let (key, end) = (group[0].0, begin + group.len() as u32);
            points.enter(Slot { key, begin, end });
            begin = end;
        }
        points
    }

    fn enter(&mut self, slot: Slot) {
        let hash = hash(slot.key);
        let bit = (hash >> self.bit_shift) as usize;
        self.filter[bit / 64] |= 1 << (bit % 64);
        let mut place = (hash >> self.slot_shift) as usize;
        while self.slots[place].end > self.slots[place].begin {
            place = (place + 1) % self.slots.len();
        }
        self.slots[place] = slot;
    }

    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Who asks for the key. There is somebody who asks for any.
    #[inline(always)]
    pub fn of(&self, key: u64) -> &[u32] {
        let hash = hash(key);
        let bit = (hash >> self.bit_shift) as usize;
        if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
            return &[];
        }
        self.find(key, hash)
    }

    fn find(&self, key: u64, hash: u64) -> &[u32] {
        let mut place = (hash >> self.slot_shift) as usize;
        loop {
            // Half of the slots at least are free.
            let Slot { key: found, begin, end } = self.slots[place];
            if end == begin || found == key {
                return &self.queries[begin as usize..end as usize];
            }
            place = (place + 1) % self.slots.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn as_a_map(keys: Vec<(u8, bool)>, others: Vec<u64>) {
            let pairs = keys.iter().enumerate().map(|(query, &(key, up))| {
                (if up { u64::from(key) << 56 } else { key.into() }, query as u32)
            });
            let mut map = BTreeMap::<u64, Vec<u32>>::new();
            pairs.clone().for_each(|(key, query)| map.entry(key).or_default().push(query));
            let points = Points::new(pairs.collect());
            prop_assert_eq!(points.is_empty(), keys.is_empty());
            if !points.is_empty() {
                for key in map.keys().copied().chain(others).chain([0, u64::MAX]) {
                    prop_assert_eq!(points.of(key), map.get(&key).map_or(&[][..], Vec::as_slice));
                }
            }
        }
    }
}
