//! Loops by hand over a table of buckets, each of which is a cache line.
//!
//! A search begins at the bucket of the key's hash, and goes on to the next bucket while a bucket
//! is full. Entries are claimed by an atomic instruction, and never removed; lookups begin when all
//! inserts have ended. So there are no locks and no versions: a map for programs must do more.
//!
//! | file | what it holds |
//! |---|---|
//! | `bucket` | a bucket: three entries in one cache line |
//! | `memory` | the memory of a table |

mod bucket;
mod memory;

use super::super::contender::Entry;
use super::super::threads::{OnThreads, SharedMap};
use crate::tables::bucket_search::Found;
use crate::tables::hashing::{Places, hash};
use crate::tables::memory::fetch;
use bucket::Bucket;
use memory::Memory;

pub(super) const PLAIN: Entry = Entry {
    name: "by-hand",
    about: "a loop by hand over buckets of a cache line, without locks or prefetching",
    is_parallel: true,
    start: |settings| {
        Ok(OnThreads::boxed(|records, settings| Table::<false>::new(records, settings.ahead), settings))
    },
    more: (),
};

pub(super) const AHEAD: Entry = Entry {
    name: "by-hand-ahead",
    about: "the same with the buckets of later keys prefetched (--ahead): the ceiling",
    is_parallel: true,
    start: |settings| {
        Ok(OnThreads::boxed(|records, settings| Table::<true>::new(records, settings.ahead), settings))
    },
    more: (),
};

/// A table of buckets. Its loops prefetch the bucket of the key that is `ahead` keys further if
/// `FETCHES` is true.
struct Table<const FETCHES: bool> {
    memory: Memory,
    places: Places,
    ahead: usize,
}

impl<const FETCHES: bool> Table<FETCHES> {
    fn new(records: usize, ahead: usize) -> Self {
        // A third to two thirds of the entries are used.
        let places = Places::at_least(records.div_ceil(2));
        Self { memory: Memory::zeroed(places.count()), places, ahead }
    }

    /// Calls `act` with the index of each key, the buckets, and the place where a search for the
    /// key begins.
    #[inline(always)]
    fn for_each(&self, keys: &[u64], mut act: impl FnMut(usize, &[Bucket], usize)) {
        let buckets = self.memory.buckets();
        for (index, &key) in keys.iter().enumerate() {
            if FETCHES {
                // Near the end, the last key is fetched again, which is cheaper than a branch.
                let later = keys[(index + self.ahead).min(keys.len() - 1)];
                fetch(&buckets[self.places.first(hash(later))]);
            }
            act(index, buckets, self.places.first(hash(key)));
        }
    }
}

impl<const FETCHES: bool> SharedMap for Table<FETCHES> {
    fn insert_each(&self, keys: &[u64], first: u64) -> usize {
        let mut new = 0;
        self.for_each(keys, |index, buckets, mut place| {
            new += loop {
                match buckets[place].insert(keys[index], first + index as u64) {
                    Some(is_new) => break usize::from(is_new),
                    None => place = self.places.next(place),
                }
            };
        });
        new
    }

    fn get_each(&self, keys: &[u64], found: &mut [Option<u64>]) {
        self.for_each(keys, |index, buckets, mut place| {
            found[index] = loop {
                match buckets[place].find(keys[index]) {
                    Found::Value(value) => break Some(value),
                    Found::Missing => break None,
                    Found::Full => place = self.places.next(place),
                }
            };
        });
    }
}
