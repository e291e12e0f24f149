//! The handle of a map: creating a map, and its operations. Each starts at the bucket of its key.

use super::bucket::MIN_BUCKETS;
use super::change::{Modified, Modify, Put, Remove};
use super::growth::buckets_for;
use super::root::{Root, RootRef};
use super::scan::{EntryCollector, EntryCounter, Progress, ScanPosition};
use super::{lookup, scan, write};
use crate::key_value::WordKey;
use crate::node::WriteMode;
use crate::value::WordValue;
use crate::write_outcome::WriteOutcome;
use core::marker::PhantomData;
use std::panic::resume_unwind;
use xtasking::{
    Context, Object, Runtime, Versioned,
    task::{RuntimeId, Spawner},
};

/// A map from keys to values of up to 64 bits, without an order, for annotated tasks.
///
/// Clones share the map. Inside the runtime, each operation takes a continuation, which gets the
/// result and the context of the worker on which the operation ended. Plain threads use a
/// [`client`](Self::client). Operations on one key are linearizable; operations that one task
/// starts may overtake each other.
///
/// An operation accesses one cache line as a rule: the bucket of its key, which has three entries.
/// A [`Tree`](crate::Tree) accesses some lines in each of its levels, but has its keys in order.
///
/// # Memory
///
/// A bucket takes 64 bytes, and there are 1.5 entries for each: 43 bytes an entry. One of nine
/// entries is in a chain of its bucket, which adds about 8 bytes an entry. The map grows while it
/// is used, and does not shrink, but chains that are not needed any more are freed. Everything is
/// freed with the last handle.
///
/// # Hashing
///
/// Keys are hashed by a function with random parameters, which each map draws for itself (in a
/// simulation they are fixed). So the order of a [`scan`](Self::scan) differs from map to map.
pub struct HashMap<K, V> {
    pub(super) root: Object<Versioned<Root>>,
    /// Invariant in `V`: handles store values, and return them.
    types: PhantomData<fn(K, V) -> V>,
}

impl<K, V> HashMap<K, V> {
    /// Creates an empty map.
    pub fn new(rt: &Runtime) -> Self
    where
        K: WordKey,
        V: WordValue,
    {
        Self::with_capacity(rt, 0)
    }

    /// Creates an empty map with room for a number of entries: until there are more, it need not
    /// grow.
    ///
    /// This call waits for the workers if the map is large, as
    /// [`Array::new`](xtasking::arena::Array::new) does. Without memory for the map, the process
    /// ends.
    pub fn with_capacity(rt: &Runtime, entries: usize) -> Self
    where
        K: WordKey,
        V: WordValue,
    {
        let root = Root::new(rt, buckets_for(entries).max(MIN_BUCKETS));
        Self { root: rt.versioned(root).build(), types: PhantomData }
    }
}

impl<K: WordKey, V: WordValue> HashMap<K, V> {
    fn root(&self) -> RootRef {
        RootRef::new(self.root.peek())
    }

    pub(super) fn hash(&self, key: K) -> u64 {
        self.root.peek().mixer.hash(key.to_word())
    }

    /// Looks up `key`.
    #[inline]
    pub fn get<S, F>(&self, at: S, key: K, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let then = move |value: Option<u64>, cx: &mut Context| then(value.map(V::from_word), cx);
        lookup::begin(at, self.root(), self.hash(key), then);
    }

    /// Adds an entry or replaces its value, depending on `mode`.
    pub fn write<S, F>(&self, at: S, key: K, value: V, mode: WriteMode, then: F)
    where
        S: Spawner,
        F: FnOnce(WriteOutcome<V>, &mut Context) + Send + 'static,
    {
        let change = Put { value: value.to_word(), mode };
        let then = move |wrote: WriteOutcome<u64>, cx: &mut Context| then(wrote.map(V::from_word), cx);
        write::begin(at, self.root(), self.hash(key), change, then);
    }

    /// Adds an entry. The continuation gets `false` if the key exists; then nothing is changed.
    pub fn insert<S, F>(&self, at: S, key: K, value: V, then: F)
    where
        S: Spawner,
        F: FnOnce(bool, &mut Context) + Send + 'static,
    {
        self.write(at, key, value, WriteMode::Insert, move |wrote, cx| then(wrote.is_inserted(), cx));
    }

    /// Adds an entry or replaces its value. The continuation gets the old value.
    pub fn upsert<S, F>(&self, at: S, key: K, value: V, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        self.write(at, key, value, WriteMode::Upsert, move |wrote, cx| then(wrote.replaced(), cx));
    }

    /// Replaces the value of an existing key. The continuation gets the old value.
    pub fn update<S, F>(&self, at: S, key: K, value: V, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        self.write(at, key, value, WriteMode::Update, move |wrote, cx| then(wrote.replaced(), cx));
    }

    /// Atomically changes the value of an existing key. The continuation gets the old value.
    /// `change` runs at most once.
    ///
    /// # Panics
    ///
    /// If `change` panics, the entry stays as it is, and the map goes on working. The panic goes on
    /// in the operation's task: the continuation is dropped, and the hook for failures of the
    /// [`Builder`](xtasking::Builder) gets the panic.
    pub fn modify<S, C, F>(&self, at: S, key: K, change: C, then: F)
    where
        S: Spawner,
        C: FnOnce(V) -> V + Send + 'static,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        self.try_modify(at, key, change, move |modified, cx| match modified {
            Ok(old) => then(old, cx),
            Err(payload) => {
                drop(then);
                resume_unwind(payload)
            }
        });
    }

    /// As [`modify`](Self::modify), with a continuation that gets the payload of a panic.
    pub(super) fn try_modify<S, C, F>(&self, at: S, key: K, change: C, then: F)
    where
        S: Spawner,
        C: FnOnce(V) -> V + Send + 'static,
        F: FnOnce(Modified<V>, &mut Context) + Send + 'static,
    {
        let change = Modify(Some(move |value| change(V::from_word(value)).to_word()));
        let then = move |modified: Modified<u64>, cx: &mut Context| {
            then(modified.map(|old| old.map(V::from_word)), cx);
        };
        write::begin(at, self.root(), self.hash(key), change, then);
    }

    /// Removes an entry. The continuation gets the old value.
    pub fn remove<S, F>(&self, at: S, key: K, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let then = move |old: Option<u64>, cx: &mut Context| then(old.map(V::from_word), cx);
        write::begin(at, self.root(), self.hash(key), Remove, then);
    }

    /// Collects up to `limit` entries from a position on, in no meaningful order. The continuation
    /// also gets the position where a further scan goes on; `None` at the end of the map. There may
    /// be no entries from a position on.
    ///
    /// Scans that go on from each other's positions return each entry that exists all along exactly
    /// once, however the map grows meanwhile. An entry that is added or removed meanwhile is
    /// returned once or not at all.
    pub fn scan<S, F>(&self, at: S, from: ScanPosition, limit: usize, then: F)
    where
        S: Spawner,
        F: FnOnce(Vec<(K, V)>, Option<ScanPosition>, &mut Context) + Send + 'static,
    {
        type Ended<K, V> = (EntryCollector<K, V>, Option<ScanPosition>);
        let then = move |(collector, next): Ended<K, V>, cx: &mut Context| {
            then(collector.into_entries(), next, cx);
        };
        let buckets = self.root.peek().buckets;
        scan::begin(at, self.root(), buckets, Progress::new(from, self.collector(limit)), then);
    }

    /// Counts the entries. Entries that exist during the whole operation are counted; those added
    /// or removed meanwhile may or may not be.
    pub fn count<S, F>(&self, at: S, then: F)
    where
        S: Spawner,
        F: FnOnce(u64, &mut Context) + Send + 'static,
    {
        let progress = Progress::new(ScanPosition::default(), EntryCounter::default());
        let then =
            move |(counter, _): (EntryCounter, Option<ScanPosition>), cx: &mut Context| then(counter.0, cx);
        scan::begin(at, self.root(), self.root.peek().buckets, progress, then);
    }

    pub(super) fn collector(&self, limit: usize) -> EntryCollector<K, V> {
        EntryCollector::new(limit, self.root.peek().mixer.inverse())
    }

    /// Returns the runtime that the map belongs to.
    pub(super) fn runtime(&self) -> RuntimeId {
        self.root.peek().runtime
    }

    /// Memory used by the map.
    pub fn memory(&self) -> MapMemory {
        let root = self.root.peek();
        let chains = root.chains.stats();
        MapMemory {
            buckets: root.buckets.len(),
            nodes: chains.live,
            bytes: root.array.bytes() + chains.bytes,
            huge_bytes: root.array.huge_bytes() + chains.huge_bytes,
        }
    }
}

/// The buckets and memory of a [`HashMap`] at one moment; approximate while it is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapMemory {
    /// Buckets of 64 bytes.
    pub buckets: usize,
    /// Nodes of chains that are allocated, including retired ones that are not freed yet.
    pub nodes: usize,
    /// Bytes of memory reserved. A map that has grown has reserved up to as much again as its
    /// buckets take, for further ones. The system counts pages from their first use on.
    pub bytes: usize,
    /// Those of them on huge pages, as far as the platform knows.
    pub huge_bytes: usize,
}

impl<K, V> Clone for HashMap<K, V> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), types: PhantomData }
    }
}
