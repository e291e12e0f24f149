//! The crate `dashmap`: tables behind locks, as one map.

use super::super::contender::{Entry, Settings};
use super::super::threads::{OnThreads, SharedMap};
use dashmap::DashMap;
use foldhash::fast::FixedState;

pub(super) const ENTRY: Entry = Entry {
    name: "dashmap",
    about: "dashmap::DashMap, tables behind locks, on plain threads",
    is_parallel: true,
    start: |settings| {
        let make = |records, settings: Settings| {
            let shards = (SHARDS_PER_THREAD * settings.workers).next_power_of_two();
            DashMap::with_capacity_and_hasher_and_shard_amount(records, FixedState::default(), shards)
        };
        Ok(OnThreads::<DashMap<u64, u64, FixedState>>::boxed(make, settings))
    },
    more: (),
};

/// Tables for each thread: as many as in the other contender with locks. The default is 4.
const SHARDS_PER_THREAD: usize = 64;

impl SharedMap for DashMap<u64, u64, FixedState> {
    fn insert_each(&self, keys: &[u64], first: u64) -> usize {
        keys.iter().zip(first..).filter(|&(&key, value)| self.insert(key, value).is_none()).count()
    }

    fn get_each(&self, keys: &[u64], found: &mut [Option<u64>]) {
        for (key, found) in keys.iter().zip(found) {
            *found = self.get(key).map(|value| *value);
        }
    }
}
