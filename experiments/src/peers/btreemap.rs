//! `std::collections::BTreeMap` under one reader/writer lock: what one has before reaching for a concurrent index.
//!
//! The lock is the standard library's. `parking_lot`'s would be one more crate for much the same: under either, workers
//! queue for one word, and that is what this peer shows.

use super::map::{ConcurrentMap, OnThreads};
use crate::contenders::{Abilities, Entry};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How it is asked for.
pub const ENTRY: Entry = Entry {
    name: "btreemap",
    about: "std BTreeMap under one RwLock, on plain threads",
    bytes_per_record: 35,
    abilities: Abilities::ALL,
    by_default: false,
    build: |_| Box::new(OnThreads::new(Locked(RwLock::new(BTreeMap::new())))),
};

struct Locked(RwLock<BTreeMap<u64, u64>>);

impl Locked {
    // A worker that panics ends the run with an error of its own; the lock need not report it again.
    fn shared(&self) -> RwLockReadGuard<'_, BTreeMap<u64, u64>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn exclusive(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, u64>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConcurrentMap for Locked {
    fn get(&self, key: u64) -> Option<u64> {
        self.shared().get(&key).copied()
    }

    fn insert(&self, key: u64, value: u64) -> bool {
        match self.exclusive().entry(key) {
            Place::Vacant(place) => {
                place.insert(value);
                true
            }
            Place::Occupied(_) => false,
        }
    }

    fn update(&self, key: u64, value: u64) -> bool {
        self.exclusive().get_mut(&key).map(|place| *place = value).is_some()
    }

    fn scan(&self, from: u64, limit: usize, entries: &mut Vec<(u64, u64)>) {
        entries.extend(self.shared().range(from..).take(limit).map(|(key, value)| (*key, *value)));
    }

    fn count(&self) -> u64 {
        self.shared().len() as u64
    }
}
