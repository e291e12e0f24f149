//! Many lookups or changes at once: each is a walk that begins at the bucket of its key.

use super::bucket::{Bucket, key_word};
use super::chain::decode_link;
use super::change::{ApplyResult, Delta, EntryChange, Put, Remove, apply};
use super::growth;
use super::handle::HashMap;
use super::hash::Division;
use super::lookup::{Query, read_bucket};
use super::root::{Buckets, Root, RootRef};
use crate::batch::{Request, Response};
use crate::key_value::WordKey;
use crate::many::{Kind, Operations, run};
use crate::node::WriteMode;
use crate::value::WordValue;
use crate::write_outcome::WriteOutcome;
use core::marker::PhantomData;
use xtasking::{
    Context, JoinError, Part, Runtime,
    arena::{Link, Step, Written},
    bundle::{Bundle, Hop, Start, Walk},
};

/// For the client. Each blocks, and returns the results in the order of the operations.
impl<K: WordKey, V: WordValue> HashMap<K, V> {
    pub(super) fn get_many(&self, rt: &Runtime, keys: &[K]) -> Result<Vec<Option<V>>, JoinError> {
        run(rt, self.root.peek(), Gets::new, keys, None)
    }

    pub(super) fn write_many<R: Clone + Send>(
        &self,
        rt: &Runtime,
        entries: &[(K, V)],
        mode: WriteMode,
        result: fn(WriteOutcome<V>) -> R,
    ) -> Result<Vec<R>, JoinError> {
        let nothing = result(WriteOutcome::Missing);
        let puts = || Puts { mode, result, division: Division::default(), keys: PhantomData };
        run(rt, self.root.peek(), puts, entries, nothing)
    }

    pub(super) fn remove_many(&self, rt: &Runtime, keys: &[K]) -> Result<Vec<Option<V>>, JoinError> {
        let removes = || Removes { division: Division::default(), types: PhantomData };
        run(rt, self.root.peek(), removes, keys, None)
    }

    pub(super) fn request_many(
        &self,
        rt: &Runtime,
        requests: &[Request<K, V>],
    ) -> Result<Vec<Response<V>>, JoinError> {
        run(rt, self.root.peek(), || Requests(Gets::new()), requests, Response::Get(None))
    }
}

/// For tasks.
impl<K: WordKey, V: WordValue> HashMap<K, V> {
    /// Returns a bundle of lookups, for one worker: it keeps many of them in flight. `done` gets
    /// each key's tag and value, in any order. [`Tree::gets`](crate::Tree::gets) has an example.
    pub fn gets<T, I, D>(&self, keys: I, done: D) -> impl Bundle + use<K, V, T, I, D>
    where
        T: Send,
        I: Iterator<Item = (K, T)> + Send,
        D: FnMut(T, Result<Option<V>, JoinError>, &mut Context) + Send,
    {
        Operations::new(Gets::new(), self.root.peek(), self.clone(), keys, done)
    }

    /// Returns a bundle of writes, for one worker: each adds an entry or replaces its value,
    /// depending on `mode`. It keeps many of them in flight. `done` gets each entry's tag and what
    /// became of it, in any order.
    ///
    /// Writes that are in flight together may overtake each other, also those of one key.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_index::{HashMap, WriteMode};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let map = HashMap::<u64, u64>::with_capacity(&rt, 1000);
    /// let mut counts = [0; 2];
    /// rt.task_scope(|scope| {
    ///     for ((task, keys), count) in scope.shares(0..1000).zip(&mut counts) {
    ///         let entries = keys.map(|key| ((key as u64, 7), ()));
    ///         task.bundle(map.writes(entries, WriteMode::Insert, |(), outcome, _| {
    ///             *count += usize::from(outcome.unwrap().is_inserted());
    ///         }));
    ///     }
    /// })?;
    /// assert_eq!(counts[0] + counts[1], 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn writes<T, I, D>(&self, entries: I, mode: WriteMode, done: D) -> impl Bundle + use<K, V, T, I, D>
    where
        T: Send,
        I: Iterator<Item = ((K, V), T)> + Send,
        D: FnMut(T, Result<WriteOutcome<V>, JoinError>, &mut Context) + Send,
    {
        let puts = Puts { mode, result: |outcome| outcome, division: Division::default(), keys: PhantomData };
        Operations::new(puts, self.root.peek(), self.clone(), entries, done)
    }

    /// Returns a bundle of operations of all kinds, for one worker: it keeps many of them in
    /// flight. `done` gets each request's tag and response, in any order.
    ///
    /// Requests that are in flight together may overtake each other, also those of one key.
    pub fn requests<T, I, D>(&self, requests: I, done: D) -> impl Bundle + use<K, V, T, I, D>
    where
        T: Send,
        I: Iterator<Item = (Request<K, V>, T)> + Send,
        D: FnMut(T, Result<Response<V>, JoinError>, &mut Context) + Send,
    {
        Operations::new(Requests(Gets::new()), self.root.peek(), self.clone(), requests, done)
    }
}

/// Lookups of keys.
struct Gets<K, V> {
    division: Division,
    types: PhantomData<fn(K) -> V>,
}

impl<K, V> Gets<K, V> {
    fn new() -> Self {
        Self { division: Division::default(), types: PhantomData }
    }
}

impl<K: WordKey, V: WordValue> Kind for Gets<K, V> {
    type Root = Root;
    type Item = K;
    type Output = Option<V>;
    type Walk = GetWalk;

    #[inline(always)]
    fn begin(&self, key: K, root: &Root) -> (Start<Bucket>, GetWalk) {
        let (first, query) = Query::begin_many(root.buckets, root.mixer.hash(key.to_word()), &self.division);
        (first.read().into(), GetWalk(query))
    }

    #[inline(always)]
    fn finish(&self, _: &GetWalk, value: Option<u64>, _: RootRef, _: &mut Context) -> Option<V> {
        value.map(V::from_word)
    }
}

/// The walk of a lookup.
struct GetWalk(Query);

impl Walk for GetWalk {
    type Target = Bucket;
    type Output = Option<u64>;

    const ENDS_AT_ONCE: bool = true;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&self, at: Link<Bucket>, bucket: &Bucket) -> Hop<Bucket, Option<u64>> {
        match read_bucket(self.0, at, bucket) {
            Step::Go(next, part) => Hop::Go(next, part),
            Step::End(value) => Hop::End(value),
            Step::Again => Hop::Again,
        }
    }
}

/// Entries to be added or replaced.
struct Puts<K, V, R, F> {
    mode: WriteMode,
    /// Returns the caller's result.
    result: F,
    division: Division,
    keys: PhantomData<fn(K, V) -> R>,
}

impl<K, V, R, F> Kind for Puts<K, V, R, F>
where
    K: WordKey,
    V: WordValue,
    R: Send,
    F: Fn(WriteOutcome<V>) -> R + Send,
{
    type Root = Root;
    type Item = (K, V);
    type Output = R;
    type Walk = ChangeWalk<Put>;

    #[inline(always)]
    fn begin(&self, (key, value): (K, V), root: &Root) -> (Start<Bucket>, Self::Walk) {
        let put = Put { value: value.to_word(), mode: self.mode };
        ChangeWalk::begin(root, key.to_word(), put, &self.division)
    }

    #[inline(always)]
    fn finish(&self, walk: &Self::Walk, change: ChangeOf<Put>, root: RootRef, cx: &mut Context) -> R {
        (self.result)(walk.finish(change, root, cx).map(V::from_word))
    }
}

/// Entries to be removed.
struct Removes<K, V> {
    division: Division,
    types: PhantomData<fn(K) -> V>,
}

impl<K: WordKey, V: WordValue> Kind for Removes<K, V> {
    type Root = Root;
    type Item = K;
    type Output = Option<V>;
    type Walk = ChangeWalk<Remove>;

    #[inline(always)]
    fn begin(&self, key: K, root: &Root) -> (Start<Bucket>, Self::Walk) {
        ChangeWalk::begin(root, key.to_word(), Remove, &self.division)
    }

    #[inline(always)]
    fn finish(
        &self,
        walk: &Self::Walk,
        change: ChangeOf<Remove>,
        root: RootRef,
        cx: &mut Context,
    ) -> Option<V> {
        walk.finish(change, root, cx).map(V::from_word)
    }
}

/// What a change `E` returns, and by how much it has changed the number of entries.
type ChangeOf<E> = (<E as EntryChange>::Result, Delta);

/// The walk of a change, which writes the bucket of its key.
///
/// If it finds that it needs the bucket's chain, it first goes there and returns, so that the chain
/// is fetched while other walks run.
struct ChangeWalk<E> {
    root: RootRef,
    buckets: Buckets,
    hash: u64,
    /// The number of buckets when the walk began.
    begun: usize,
    has_fetched_chain: bool,
    change: E,
}

impl<E: EntryChange> ChangeWalk<E> {
    #[inline(always)]
    fn begin(root: &Root, key: u64, change: E, division: &Division) -> (Start<Bucket>, Self) {
        let hash = root.mixer.hash(key);
        let (bucket, begun) = root.buckets.of_many(hash, division);
        let (root, buckets) = (RootRef::new(root), root.buckets);
        (bucket.write().into(), Self { root, buckets, hash, begun, has_fetched_chain: false, change })
    }

    /// Counts what has changed, and returns the result.
    #[inline(always)]
    fn finish(&self, (result, delta): ChangeOf<E>, root: RootRef, cx: &mut Context) -> E::Result {
        growth::note(root, self.hash, delta, cx);
        result
    }
}

impl<E: EntryChange> Walk for ChangeWalk<E> {
    type Target = Bucket;
    type Output = ChangeOf<E>;

    const ENDS_AT_ONCE: bool = true;

    /// Returns from the chain to the bucket.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&self, _: Link<Bucket>, _: &Bucket) -> Hop<Bucket, Self::Output> {
        Hop::Write(self.buckets.of(self.hash).0, Part::NONE)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write(
        &mut self,
        at: Link<Bucket>,
        bucket: Written<'_, Bucket>,
        cx: &mut Context,
    ) -> Hop<Bucket, Self::Output> {
        if !self.has_fetched_chain
            && let Some(word) = bucket.chain()
            && bucket.find_here(key_word(self.hash)).is_none()
            && let Some(chain) = decode_link(word)
        {
            self.has_fetched_chain = true;
            return Hop::Go(chain, Part::HEAD);
        }
        match apply(&mut self.change, self.root.get(cx), at, &bucket, (self.hash, self.begun), cx) {
            ApplyResult::Done(result, delta) => Hop::End((result, delta)),
            ApplyResult::Elsewhere(bucket) => Hop::Write(bucket, Part::HEAD),
        }
    }
}

/// Operations of all kinds.
struct Requests<K, V>(Gets<K, V>);

impl<K: WordKey, V: WordValue> Kind for Requests<K, V> {
    type Root = Root;
    type Item = Request<K, V>;
    type Output = Response<V>;
    type Walk = RequestWalk;

    #[inline(always)]
    fn begin(&self, request: Request<K, V>, root: &Root) -> (Start<Bucket>, RequestWalk) {
        match request {
            Request::Get(key) => {
                let (start, walk) = self.0.begin(key, root);
                (start, RequestWalk::Get(walk))
            }
            Request::Write(key, value, mode) => {
                let put = Put { value: value.to_word(), mode };
                let (start, walk) = ChangeWalk::begin(root, key.to_word(), put, &self.0.division);
                (start, RequestWalk::Write(walk))
            }
            Request::Remove(key) => {
                let (start, walk) = ChangeWalk::begin(root, key.to_word(), Remove, &self.0.division);
                (start, RequestWalk::Remove(walk))
            }
        }
    }

    #[inline(always)]
    fn finish(
        &self,
        walk: &RequestWalk,
        (response, delta): (Response<u64>, Delta),
        root: RootRef,
        cx: &mut Context,
    ) -> Response<V> {
        match walk {
            RequestWalk::Get(_) => {}
            RequestWalk::Write(walk) => growth::note(root, walk.hash, delta, cx),
            RequestWalk::Remove(walk) => growth::note(root, walk.hash, delta, cx),
        }
        match response {
            Response::Get(value) => Response::Get(value.map(V::from_word)),
            Response::Write(outcome) => Response::Write(outcome.map(V::from_word)),
            Response::Remove(old) => Response::Remove(old.map(V::from_word)),
        }
    }
}

/// The walk of a request.
enum RequestWalk {
    Get(GetWalk),
    Write(ChangeWalk<Put>),
    Remove(ChangeWalk<Remove>),
}

impl Walk for RequestWalk {
    type Target = Bucket;
    type Output = (Response<u64>, Delta);

    const ENDS_AT_ONCE: bool = true;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&self, at: Link<Bucket>, bucket: &Bucket) -> Hop<Bucket, Self::Output> {
        match self {
            Self::Get(walk) => walk.read(at, bucket).map(|value| (Response::Get(value), Delta::None)),
            Self::Write(walk) => {
                walk.read(at, bucket).map(|(outcome, delta)| (Response::Write(outcome), delta))
            }
            Self::Remove(walk) => walk.read(at, bucket).map(|(old, delta)| (Response::Remove(old), delta)),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write(
        &mut self,
        at: Link<Bucket>,
        bucket: Written<'_, Bucket>,
        cx: &mut Context,
    ) -> Hop<Bucket, Self::Output> {
        match self {
            Self::Get(walk) => walk.read(at, &bucket).map(|value| (Response::Get(value), Delta::None)),
            Self::Write(walk) => {
                walk.write(at, bucket, cx).map(|(outcome, delta)| (Response::Write(outcome), delta))
            }
            Self::Remove(walk) => {
                walk.write(at, bucket, cx).map(|(old, delta)| (Response::Remove(old), delta))
            }
        }
    }
}
