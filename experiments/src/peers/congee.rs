//! Wraps `congee::Congee`, a concurrent adaptive radix tree with optimistic lock coupling, for keys
//! of eight bytes.

use super::map::{ConcurrentMap, OnThreads};
use crate::ycsb::contender::{Abilities, ContenderProfile, Entry};
use congee::Congee;

/// The entry of this peer.
pub const ENTRY: Entry = Entry {
    name: "congee",
    about: "congee::Congee, an adaptive radix tree, on plain threads",
    is_parallel: true,
    start: |_| Ok(Box::new(OnThreads::new(Art(Congee::default())))),
    more: ContenderProfile { bytes_per_record: 100, abilities: Abilities::ALL, is_default: false },
};

struct Art(Congee<usize, usize>);

// Keys and values are passed as `usize`.
const _: () = assert!(usize::BITS == 64);

impl ConcurrentMap for Art {
    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(&(key as usize), &self.0.pin()).map(|value| value as u64)
    }

    fn insert(&self, key: u64, value: u64) -> bool {
        // If memory runs out it does not insert, which the check then reports.
        matches!(self.0.insert(key as usize, value as usize, &self.0.pin()), Ok(None))
    }

    fn update(&self, key: u64, value: u64) -> bool {
        self.0.compute_if_present(&(key as usize), |_| Some(value as usize), &self.0.pin()).is_some()
    }

    fn scan(&self, from: u64, limit: usize, entries: &mut Vec<(u64, u64)>) {
        let mut chunk_entries = [(0, 0); 128];
        let (mut next, mut missing) = (from as usize, limit);
        while missing > 0 {
            let chunk = missing.min(chunk_entries.len());
            // The end is exclusive: YCSB's records do not use the greatest key.
            let count = self.0.range(&next, &usize::MAX, &mut chunk_entries[..chunk], &self.0.pin());
            entries.extend(chunk_entries[..count].iter().map(|&(key, value)| (key as u64, value as u64)));
            missing -= count;
            match chunk_entries[..count].last() {
                Some(&(last, _)) if count == chunk && last < usize::MAX => next = last + 1,
                _ => break,
            }
        }
    }

    fn count(&self) -> u64 {
        self.0.keys().len() as u64
    }
}
