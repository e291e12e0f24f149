//! Hash tables of the crate `hashbrown`, each behind a lock: what many programs write by hand.

use super::super::contender::{Entry, Settings};
use super::super::threads::{OnThreads, SharedMap};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry::{Occupied, Vacant};
use std::hash::BuildHasher;
use std::sync::{PoisonError, RwLock};

pub(super) const ENTRY: Entry = Entry {
    name: "sharded",
    about: "hashbrown, 64 tables a thread, each behind a RwLock",
    is_parallel: true,
    start: |settings| {
        let make = |records, settings: Settings| Sharded::new(records, settings.workers);
        Ok(OnThreads::boxed(make, settings))
    },
    more: (),
};

/// Tables for each thread: enough for threads to meet rarely.
const SHARDS_PER_THREAD: usize = 64;

/// A table, on cache lines of its own.
#[repr(align(128))]
struct Shard(RwLock<HashTable<(u64, u64)>>);

struct Sharded {
    shards: Box<[Shard]>,
    hasher: FixedState,
}

impl Sharded {
    fn new(records: usize, threads: usize) -> Self {
        let count = (SHARDS_PER_THREAD * threads).next_power_of_two();
        // The tables get slightly different numbers of keys, and none should grow.
        let room = records / count + records / count / 8 + 16;
        let shard = |_| Shard(RwLock::new(HashTable::with_capacity(room)));
        Self { shards: (0..count).map(shard).collect(), hasher: FixedState::default() }
    }

    #[inline(always)]
    fn hash(&self, key: u64) -> u64 {
        self.hasher.hash_one(key)
    }

    #[inline(always)]
    fn shard(&self, hash: u64) -> &RwLock<HashTable<(u64, u64)>> {
        // A table uses the lowest and the highest bits of a hash.
        &self.shards[(hash >> 40) as usize & (self.shards.len() - 1)].0
    }
}

impl SharedMap for Sharded {
    fn insert_each(&self, keys: &[u64], first: u64) -> usize {
        let mut new = 0;
        for (&key, value) in keys.iter().zip(first..) {
            let hash = self.hash(key);
            let mut table = self.shard(hash).write().unwrap_or_else(PoisonError::into_inner);
            match table.entry(hash, |entry| entry.0 == key, |entry| self.hash(entry.0)) {
                Occupied(mut entry) => entry.get_mut().1 = value,
                Vacant(entry) => {
                    entry.insert((key, value));
                    new += 1;
                }
            }
        }
        new
    }

    fn get_each(&self, keys: &[u64], found: &mut [Option<u64>]) {
        for (&key, found) in keys.iter().zip(found) {
            let hash = self.hash(key);
            let table = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner);
            *found = table.find(hash, |entry| entry.0 == key).map(|entry| entry.1);
        }
    }
}
