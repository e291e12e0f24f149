//! `congee::Congee`: a concurrent adaptive radix tree with optimistic lock coupling, for keys of eight bytes.

use super::map::{ConcurrentMap, OnThreads};
use crate::contenders::{Abilities, Entry};
use congee::Congee;

/// How it is asked for.
pub const ENTRY: Entry = Entry {
    name: "congee",
    about: "congee::Congee, an adaptive radix tree, on plain threads",
    bytes_per_record: 100,
    abilities: Abilities::ALL,
    by_default: false,
    build: |_| Box::new(OnThreads::new(Art(Congee::default()))),
};

struct Art(Congee<usize, usize>);

// Keys and values travel as `usize`, which has to hold them.
const _: () = assert!(usize::BITS == 64);

impl ConcurrentMap for Art {
    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(&(key as usize), &self.0.pin()).map(|value| value as u64)
    }

    fn insert(&self, key: u64, value: u64) -> bool {
        // Without memory it does not insert, which the check then reports.
        matches!(self.0.insert(key as usize, value as usize, &self.0.pin()), Ok(None))
    }

    fn update(&self, key: u64, value: u64) -> bool {
        self.0.compute_if_present(&(key as usize), |_| Some(value as usize), &self.0.pin()).is_some()
    }

    fn scan(&self, from: u64, limit: usize, entries: &mut Vec<(u64, u64)>) {
        let mut found = [(0, 0); 128];
        let (mut next, mut missing) = (from as usize, limit);
        while missing > 0 {
            let chunk = missing.min(found.len());
            // The end is exclusive: the greatest number is no key that YCSB's records would have.
            let count = self.0.range(&next, &usize::MAX, &mut found[..chunk], &self.0.pin());
            entries.extend(found[..count].iter().map(|&(key, value)| (key as u64, value as u64)));
            missing -= count;
            match found[..count].last() {
                Some(&(last, _)) if count == chunk && last < usize::MAX => next = last + 1,
                _ => break,
            }
        }
    }

    fn count(&self) -> u64 {
        self.0.keys().len() as u64
    }
}
