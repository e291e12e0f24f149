//! Wraps `scc::TreeIndex`, a concurrent B+ tree whose readers never wait.

use super::map::{ConcurrentMap, OnThreads};
use crate::ycsb::contender::{Abilities, ContenderProfile, Entry};
use scc::{Guard, TreeIndex};
use std::sync::atomic::{AtomicU64, Ordering};

/// The entry of this peer.
pub const ENTRY: Entry = Entry {
    name: "scc",
    about: "scc::TreeIndex, a concurrent B+ tree, on plain threads",
    is_parallel: true,
    start: |_| Ok(Box::new(OnThreads::new(Scc(TreeIndex::new())))),
    more: ContenderProfile { bytes_per_record: 50, abilities: Abilities::ALL, is_default: false },
};

/// A value that is changed in place. `upsert_sync` would add a new entry and retire the old one,
/// which is slower, and does not report whether there was an old one.
struct Cell(AtomicU64);

impl Clone for Cell {
    /// The tree copies entries when it splits a leaf. It excludes `read_sync` meanwhile, so no
    /// update is lost.
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

struct Scc(TreeIndex<u64, Cell>);

impl ConcurrentMap for Scc {
    fn get(&self, key: u64) -> Option<u64> {
        self.0.peek_with(&key, |_, value| value.0.load(Ordering::Acquire))
    }

    fn insert(&self, key: u64, value: u64) -> bool {
        self.0.insert_sync(key, Cell(AtomicU64::new(value))).is_ok()
    }

    fn update(&self, key: u64, value: u64) -> bool {
        // The documentation requires `read_sync` where values change in place: it keeps the leaf
        // from being split.
        self.0.read_sync(&key, |_, cell| cell.0.store(value, Ordering::Release)).is_some()
    }

    fn scan(&self, from: u64, limit: usize, entries: &mut Vec<(u64, u64)>) {
        let guard = Guard::new();
        let entry = |(key, value): (&u64, &Cell)| (*key, value.0.load(Ordering::Acquire));
        if from == 0 {
            // If `from` is below the least key, `range` (of 3.8.8) searches all leaves again and
            // again: minutes for two million keys. Scans of a workload begin at a key; only the
            // audit begins here.
            entries.extend(self.0.iter(&guard).take(limit).map(entry));
        } else {
            entries.extend(self.0.range(from.., &guard).take(limit).map(entry));
        }
    }

    fn count(&self) -> u64 {
        self.0.len() as u64
    }
}
