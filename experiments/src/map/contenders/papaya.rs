//! The crate `papaya`: a table without locks, whose readers never wait.

use super::super::contender::Entry;
use super::super::threads::{OnThreads, SharedMap};
use foldhash::fast::FixedState;
use papaya::HashMap;

pub(super) const ENTRY: Entry = Entry {
    name: "papaya",
    about: "papaya::HashMap, a table without locks, on plain threads",
    is_parallel: true,
    start: |settings| {
        let make = |records, _| HashMap::with_capacity_and_hasher(records, FixedState::default());
        Ok(OnThreads::<HashMap<u64, u64, FixedState>>::boxed(make, settings))
    },
    more: (),
};

/// Operations between two pins. A pin keeps what is removed meanwhile from being freed, so a
/// program does not hold one forever.
const PINNED_OPERATIONS: usize = 64;

impl SharedMap for HashMap<u64, u64, FixedState> {
    fn insert_each(&self, keys: &[u64], first: u64) -> usize {
        let mut new = 0;
        for (keys, first) in keys.chunks(PINNED_OPERATIONS).zip((first..).step_by(PINNED_OPERATIONS)) {
            let map = self.pin();
            let is_new = |&(&key, value): &(&u64, u64)| map.insert(key, value).is_none();
            new += keys.iter().zip(first..).filter(is_new).count();
        }
        new
    }

    fn get_each(&self, keys: &[u64], found: &mut [Option<u64>]) {
        for (keys, found) in keys.chunks(PINNED_OPERATIONS).zip(found.chunks_mut(PINNED_OPERATIONS)) {
            let map = self.pin();
            for (key, found) in keys.iter().zip(found) {
                *found = map.get(key).copied();
            }
        }
    }
}
