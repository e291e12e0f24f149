//! The handle of a tree: creating a tree, and its operations. Each starts at the topmost node.

use super::links::marked_link;
use super::root::{Root, RootRef};
use super::write_outcome::WriteOutcome;
use super::{lookup, scan, write};
use crate::key_value::{Key, Value};
use crate::node::{HintedNode, Layout, WriteMode, words};
use core::marker::PhantomData;
use xtasking::{
    Context, Object, Runtime, Versioned,
    arena::{Arena, ArenaStats, Link, LinkCell},
    primitive::OptimisticLatched,
    task::{LegalFor, RuntimeId, Spawner},
};

/// The default layout: hinted nodes of 1 KiB.
pub type DefaultLayout = HintedNode<{ words(1024) }>;

/// An ordered map from keys to values of up to 64 bits, for annotated tasks.
///
/// Clones share the tree. Inside the runtime, each operation takes a continuation, which gets the
/// result and the context of the worker on which the operation ended. Plain threads use a
/// [`client`](Self::client). Operations on one key are linearizable; operations that one task
/// starts may overtake each other.
pub struct Tree<K, V, L: Layout = DefaultLayout> {
    root: Object<Versioned<Root<L>>>,
    types: PhantomData<fn(K) -> V>,
}

impl<K: Key, V: Value, L: Layout> Tree<K, V, L> {
    /// Creates an empty tree whose nodes use [`OptimisticLatched`].
    pub fn new(rt: &Runtime) -> Self {
        Self::with_primitive(rt, OptimisticLatched)
    }

    /// Creates an empty tree whose nodes use the given primitive.
    pub fn with_primitive<P: LegalFor<Versioned<L>>>(rt: &Runtime, primitive: P) -> Self {
        let arena = Arena::with_primitive(rt, primitive);
        let link = marked_link(arena.alloc_outside(L::new(0, 0)), 0, 0);
        Self::from_parts(rt, link, arena)
    }

    pub(super) fn from_parts(rt: &Runtime, link: Link<L>, arena: Arena<L>) -> Self {
        let root = Root { link: LinkCell::new(link), runtime: rt.runtime(), arena };
        Self { root: rt.versioned(root).build(), types: PhantomData }
    }

    pub(super) fn root(&self) -> RootRef<L> {
        RootRef::new(self.root.peek())
    }

    pub(super) fn top(&self) -> Link<L> {
        self.root.peek().link.get()
    }

    /// Looks up `key`.
    #[inline]
    pub fn get<S, F>(&self, at: S, key: K, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let then = move |value: Option<u64>, cx: &mut Context| then(value.map(V::from_word), cx);
        lookup::begin(at, self.root(), key.to_word(), then);
    }

    /// Adds an entry or replaces its value, depending on `mode`.
    pub fn write<S, F>(&self, at: S, key: K, value: V, mode: WriteMode, then: F)
    where
        S: Spawner,
        F: FnOnce(WriteOutcome<V>, &mut Context) + Send + 'static,
    {
        let change = write::PutEntry { value: value.to_word(), mode };
        let then =
            move |wrote: WriteOutcome<u64>, cx: &mut Context| then(WriteOutcome::from_words(wrote), cx);
        write::begin(at, self.root(), key.to_word(), change, then);
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
    pub fn modify<S, C, F>(&self, at: S, key: K, change: C, then: F)
    where
        S: Spawner,
        C: FnOnce(V) -> V + Send + 'static,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let change = write::ModifyEntry(Some(move |value| change(V::from_word(value)).to_word()));
        let then = move |old: Option<u64>, cx: &mut Context| then(old.map(V::from_word), cx);
        write::begin(at, self.root(), key.to_word(), change, then);
    }

    /// Removes an entry. The continuation gets the old value. A leaf that becomes empty is unlinked
    /// and freed.
    pub fn remove<S, F>(&self, at: S, key: K, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let then = move |old: Option<u64>, cx: &mut Context| then(old.map(V::from_word), cx);
        write::begin(at, self.root(), key.to_word(), write::RemoveEntry, then);
    }

    /// Collects up to `limit` entries from key `from` on, in order. Each leaf is read atomically,
    /// but writers may run between two leaves.
    pub fn scan<S, F>(&self, at: S, from: K, limit: usize, then: F)
    where
        S: Spawner,
        F: FnOnce(Vec<(K, V)>, &mut Context) + Send + 'static,
    {
        scan::begin(at, self.root(), from.to_word(), scan::EntryCollector::new(limit), then);
    }

    /// Counts the entries. Entries that exist during the whole operation are counted; those added
    /// or removed meanwhile may or may not be.
    pub fn count<S, F>(&self, at: S, then: F)
    where
        S: Spawner,
        F: FnOnce(u64, &mut Context) + Send + 'static,
    {
        scan::begin(at, self.root(), 0, scan::EntryCounter::default(), then);
    }

    /// Returns the runtime that the tree belongs to.
    pub(crate) fn runtime(&self) -> RuntimeId {
        self.root.peek().runtime
    }

    /// Memory used by the nodes.
    pub fn memory(&self) -> ArenaStats {
        self.root.peek().arena.stats()
    }
}

impl<K, V, L: Layout> Clone for Tree<K, V, L> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), types: PhantomData }
    }
}
