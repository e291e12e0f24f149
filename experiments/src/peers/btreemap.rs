//! Wraps `std::collections::BTreeMap` under one reader/writer lock: the usual choice before a
//! concurrent index.
//!
//! The lock is the standard library's. With `parking_lot`'s, workers would equally queue for one
//! word, which is what this peer shows.

use super::map::{ConcurrentMap, OnThreads};
use crate::ycsb::contender::{Abilities, ContenderProfile, Entry};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The entry of this peer.
pub const ENTRY: Entry = Entry {
    name: "btreemap",
    about: "std BTreeMap under one RwLock, on plain threads",
    is_parallel: true,
    start: |_| Ok(Box::new(OnThreads::new(Locked(RwLock::new(BTreeMap::new()))))),
    more: ContenderProfile { bytes_per_record: 35, abilities: Abilities::ALL, is_default: false },
};

struct Locked(RwLock<BTreeMap<u64, u64>>);

impl Locked {
    // Ignores poisoning: a panic of a worker ends the run with an error of its own.
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
