//! Looking up a key: the bucket is read, and its chain if the filter lets the key pass. A plain
//! thread reads the same buckets without a task.

use super::bucket::{Bucket, key_word};
use super::chain::{CHAIN_MARK, decode_link};
use super::hash::Division;
use super::root::{Buckets, Root, RootRef};
use crate::root::{Continuation, Epoch, Operation};
use xtasking::{
    Context, JoinError, Part,
    arena::{Link, Reader, Step, Visit},
    task::Spawner,
};

/// What is looked up.
#[derive(Clone, Copy)]
pub(super) struct Query {
    buckets: Buckets,
    hash: u64,
    /// The number of buckets when the lookup began.
    begun: usize,
}

impl Query {
    /// Returns a query, and the bucket where it begins.
    #[inline(always)]
    pub(super) fn begin(buckets: Buckets, hash: u64) -> (Link<Bucket>, Self) {
        let (bucket, begun) = buckets.of(hash);
        (bucket, Self { buckets, hash, begun })
    }

    /// As [`begin`](Self::begin), for many queries.
    #[inline(always)]
    pub(super) fn begin_many(buckets: Buckets, hash: u64, division: &Division) -> (Link<Bucket>, Self) {
        let (bucket, begun) = buckets.of_many(hash, division);
        (bucket, Self { buckets, hash, begun })
    }
}

/// Reads a bucket, or a node of its chain, on the way to a key.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn read_bucket(query: Query, at: Link<Bucket>, bucket: &Bucket) -> Step<Bucket, Option<u64>> {
    let key = key_word(query.hash);
    if let Some((_, value)) = bucket.find_here(key) {
        return Step::End(Some(value));
    }
    // A chain was found in the bucket of the hash, and has all that was there then.
    if at.mark() != CHAIN_MARK
        && let Some(bucket) = query.buckets.elsewhere(query.hash, at, query.begun)
    {
        return Step::Go(bucket, Part::HEAD);
    }
    match bucket.find_beyond(key) {
        Some(word) => decode_link(word).map_or(Step::Again, |next| Step::Go(next, Part::HEAD)),
        None => Step::End(None),
    }
}

/// Looks up a hash without a task. The reader must be older than this call.
#[inline]
pub(super) fn get(reader: &Reader<'_>, buckets: Buckets, hash: u64) -> Result<Option<u64>, JoinError> {
    let (first, query) = Query::begin(buckets, hash);
    reader.walk(first, move |at, bucket| read_bucket(query, at, bucket))
}

/// Starts a lookup.
#[inline(always)]
pub(super) fn begin<S: Spawner, F: Continuation<Option<u64>>>(at: S, root: RootRef, hash: u64, then: F) {
    root.begin(at, Begin { hash, then });
}

/// A lookup that has not begun.
struct Begin<F> {
    hash: u64,
    then: F,
}

impl<F: Continuation<Option<u64>>> Operation<Root> for Begin<F> {
    #[inline(always)]
    fn start<S: Spawner>(self, at: S, root: &Root, epoch: Epoch) {
        let (first, query) = Query::begin(root.buckets, self.hash);
        epoch.annotate(at.task(first.read())).visit(Lookup { query, then: self.then });
    }
}

struct Lookup<F> {
    query: Query,
    then: F,
}

impl<F: Continuation<Option<u64>>> Visit for Lookup<F> {
    type Target = Bucket;
    type Output = Option<u64>;

    #[inline(always)]
    fn read(&self, at: Link<Bucket>, bucket: &Bucket) -> Step<Bucket, Option<u64>> {
        read_bucket(self.query, at, bucket)
    }

    #[inline(always)]
    fn then(self, value: Option<u64>, cx: &mut Context) {
        (self.then)(value, cx);
    }
}
