//! `crossbeam_skiplist::SkipMap`: a lock-free skip list.

use super::map::{ConcurrentMap, OnThreads};
use crate::contenders::{Abilities, Entry};
use crossbeam_skiplist::SkipMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// How it is asked for.
pub const ENTRY: Entry = Entry {
    name: "crossbeam-skiplist",
    about: "crossbeam_skiplist::SkipMap, a lock-free skip list, on plain threads",
    bytes_per_record: 80,
    abilities: Abilities::ALL,
    by_default: false,
    build: |_| Box::new(OnThreads::new(SkipList(SkipMap::new()))),
};

/// Values change in place: its own `insert` takes the old entry out before the new one is in, so that a reader could
/// miss the key in between.
struct SkipList(SkipMap<u64, AtomicU64>);

impl ConcurrentMap for SkipList {
    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(&key).map(|entry| entry.value().load(Ordering::Acquire))
    }

    fn insert(&self, key: u64, value: u64) -> bool {
        // It does not say whether the key is new; but no two requests write the same value.
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
