//! The data that all operations of a map share.

use super::bucket::{Bucket, Contents};
use super::growth::Growth;
use super::hash::{Division, Mixer, bucket_of};
use crate::root;
use xtasking::{
    Object, Plain, Runtime, Version,
    arena::{Arena, Array, Link, Links},
    task::{RuntimeId, Spawner as _},
};

/// The data that all operations share.
pub(super) struct Root {
    pub(super) mixer: Mixer,
    pub(super) buckets: Buckets,
    pub(super) runtime: RuntimeId,
    pub(super) growth: Object<Plain<Growth>>,
    pub(super) array: Array<Bucket>,
    /// The nodes of chains.
    pub(super) chains: Arena<Bucket>,
}

/// The links of the buckets. The epoch of the operation keeps the buckets alive.
#[derive(Clone, Copy)]
pub(super) struct Buckets(Links<Bucket>);

/// A pointer to the root, carried by the tasks of an operation.
pub(super) type RootRef = root::RootRef<Root>;

impl Root {
    /// Creates the root of an empty map.
    pub(super) fn new(rt: &Runtime, buckets: usize) -> Self {
        let array = Array::new(rt, buckets, |_| Bucket::new(Contents::default()));
        Self {
            mixer: Mixer::new(!rt.is_simulated()),
            buckets: Buckets(array.links()),
            runtime: rt.runtime(),
            growth: rt.plain(Growth::new()).build(),
            array,
            chains: Arena::new(rt),
        }
    }
}

impl Version for Root {}

impl root::Root for Root {
    #[inline(always)]
    fn runtime(&self) -> RuntimeId {
        self.runtime
    }
}

impl Buckets {
    /// Returns the number of buckets.
    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.0.len()
    }

    /// Returns the bucket with this index, which must be below the length.
    #[inline(always)]
    pub(super) fn link(self, index: usize) -> Link<Bucket> {
        self.0.link(index)
    }

    /// Returns the bucket of a hash now, and the number of buckets.
    #[inline(always)]
    pub(super) fn of(self, hash: u64) -> (Link<Bucket>, usize) {
        let len = self.len();
        (self.link(bucket_of(hash, len)), len)
    }

    /// As [`of`](Self::of), for many hashes.
    #[inline(always)]
    pub(super) fn of_many(self, hash: u64, division: &Division) -> (Link<Bucket>, usize) {
        let len = self.len();
        (self.link(division.bucket_of(hash, len)), len)
    }

    /// Returns the bucket of a hash if that is not `at`. A caller that holds `at`, or reads it at
    /// one version, learns whether the hash belongs there at that moment. The caller began at the
    /// bucket of the hash among `begun` buckets.
    #[inline(always)]
    pub(super) fn elsewhere(self, hash: u64, at: Link<Bucket>, begun: usize) -> Option<Link<Bucket>> {
        let len = self.len();
        // A walk is sent elsewhere only after the length has changed.
        if len == begun { None } else { self.elsewhere_of(hash, at, len) }
    }

    #[cold]
    #[inline(never)]
    fn elsewhere_of(self, hash: u64, at: Link<Bucket>, len: usize) -> Option<Link<Bucket>> {
        let bucket = self.link(bucket_of(hash, len));
        (!bucket.is_same_node(at)).then_some(bucket)
    }
}
