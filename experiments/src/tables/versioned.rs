//! Tables of versioned buckets in a runtime, read in place beside writers.
//!
//! They lock nothing and prefetch nothing: tasks name the bucket that they access, and the runtime
//! does both.

use super::bucket::Bucket;
use super::hashing::{Places, hash};
use std::cell::RefCell;
use xtasking::Runtime;
use xtasking::arena::{Array, Link, Links};

/// A table of buckets, as a task carries it. A search begins at the bucket of the key's hash, and
/// goes on to the next bucket while a bucket is full.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    links: Links<Bucket>,
    places: Places,
}

impl Table {
    /// Returns the bucket where a search for a key begins.
    #[inline(always)]
    pub(crate) fn first(self, key: u64) -> Link<Bucket> {
        self.links.link(self.places.first(hash(key)))
    }

    /// Returns the bucket after another one.
    pub(crate) fn next(self, bucket: Link<Bucket>) -> Link<Bucket> {
        let place = self.links.index_of(bucket).expect("a search stays in its table");
        self.links.link(self.places.next(place))
    }
}

/// A runtime and its tables. Dropping this ends the runtime, and then frees the tables.
pub(crate) struct Tables {
    /// Dropped before the buckets, so that these are freed at once.
    rt: Runtime,
    buckets: RefCell<Vec<Array<Bucket>>>,
}

impl Tables {
    /// Takes over a runtime that has no tables yet.
    pub(crate) fn new(rt: Runtime) -> Self {
        Self { rt, buckets: RefCell::default() }
    }

    /// Makes an empty table with room for a number of records.
    pub(crate) fn add(&self, records: usize) -> Table {
        // A third to two thirds of the entries are used.
        let places = Places::at_least(records.div_ceil(2));
        let buckets = Array::new(&self.rt, places.count(), |_| Bucket::new());
        let table = Table { links: buckets.links(), places };
        self.buckets.borrow_mut().push(buckets);
        table
    }

    /// Returns the runtime.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.rt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_harness::lineup::start_own;

    #[test]
    fn a_bucket_is_a_cache_line_and_the_first_follows_the_last() {
        assert_eq!(Array::<Bucket>::STRIDE, 64);
        let tables = Tables::new(start_own(1).unwrap());
        let table = tables.add(7);
        let first = table.first(12);
        let mut bucket = first;
        (0..4).for_each(|_| bucket = table.next(bucket));
        assert!(bucket.is_same_node(first) && !table.next(first).is_same_node(first));
        assert!(!tables.add(7).first(12).is_same_node(first));
    }
}
