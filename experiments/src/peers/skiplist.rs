//! Wraps `crossbeam_skiplist::SkipMap`, a lock-free skip list.

use super::map::{ConcurrentMap, OnThreads};
use crate::ycsb::contender::{Abilities, ContenderProfile, Entry};
use crossbeam_skiplist::SkipMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The entry of this peer.
pub const ENTRY: Entry = Entry {
    name: "crossbeam-skiplist",
    about: "crossbeam_skiplist::SkipMap, a lock-free skip list, on plain threads",
    is_parallel: true,
    start: |_| Ok(Box::new(OnThreads::new(SkipList(SkipMap::new())))),
    more: ContenderProfile { bytes_per_record: 80, abilities: Abilities::ALL, is_default: false },
};

/// Values change in place: `SkipMap::insert` removes the old entry before it adds the new one, so a
/// reader could miss the key in between.
struct SkipList(SkipMap<u64, AtomicU64>);

impl ConcurrentMap for SkipList {
    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(&key).map(|entry| entry.value().load(Ordering::Acquire))
    }

    fn insert(&self, key: u64, value: u64) -> bool {
        // `get_or_insert` does not report whether the key is new; but no two requests write the
        // same value.
        let entry = self.0.get_or_insert(key, AtomicU64::new(value));
        entry.value().load(Ordering::Acquire) == value
    }

    fn update(&self, key: u64, value: u64) -> bool {
        self.0.get(&key).map(|entry| entry.value().store(value, Ordering::Release)).is_some()
    }

    fn scan(&self, from: u64, limit: usize, entries: &mut Vec<(u64, u64)>) {
        let range = self.0.range(from..).take(limit);
        entries.extend(range.map(|entry| (*entry.key(), entry.value().load(Ordering::Acquire))));
    }

    fn count(&self) -> u64 {
        self.0.len() as u64
    }
}
