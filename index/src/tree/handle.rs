//! The handle of a tree: creating a tree, and its operations. Each starts at the topmost node.

use super::links::marked_link;
use super::root::{Root, RootRef};
use super::{lookup, value_words, write};
use crate::key_space::KeySpace;
use crate::key_value::Key;
use crate::node::{HintedNode, Layout, WriteMode, words};
use crate::value::Value;
use crate::write_outcome::WriteOutcome;
use core::marker::PhantomData;
use xtasking::{
    Context, Object, Primitive, Runtime, Versioned,
    arena::{Arena, ArenaStats, Link, LinkCell},
    primitive::OptimisticLatched,
    task::{LegalFor, RuntimeId, Spawner},
};

/// The default layout: hinted nodes of 1 KiB.
pub type DefaultLayout = HintedNode<{ words(1024) }>;

/// An ordered map, for annotated tasks.
///
/// Clones share the tree. Inside the runtime, each operation takes a continuation, which gets the
/// result and the context of the worker on which the operation ended. Plain threads use a
/// [`client`](Self::client). Operations on one key are linearizable; operations that one task
/// starts may overtake each other.
pub struct Tree<K: Key, V, L: Layout = <K as Key>::Node> {
    pub(super) root: Object<Versioned<Root<L>>>,
    /// Invariant in `V`: handles store values, and return them.
    types: PhantomData<fn(K, V) -> V>,
}

impl<K: Key, V, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    /// Creates an empty tree whose nodes use [`OptimisticLatched`].
    pub fn new(rt: &Runtime) -> Self
    where
        V: Value,
    {
        Self::with_primitive(rt, OptimisticLatched)
    }

    /// Creates an empty tree whose nodes use the given primitive.
    pub fn with_primitive<P: LegalFor<Versioned<L>>>(rt: &Runtime, primitive: P) -> Self
    where
        V: Value,
    {
        let arena = Arena::with_primitive(rt, primitive);
        let link = marked_link(arena.alloc_outside(L::new(0, K::Keys::LOWEST)), 0, 0);
        Self::from_parts(rt, link, arena)
    }
}

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    pub(super) fn from_parts(rt: &Runtime, link: Link<L>, arena: Arena<L>) -> Self {
        let root = Root::new::<V>(LinkCell::new(link), rt.runtime(), arena);
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
    pub fn get<S, F>(&self, at: S, key: K::Arg<'_>, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let then = move |value: Option<u64>, cx: &mut Context| {
            then(value.map(|word| value_words::copy(word, cx)), cx);
        };
        lookup::begin(at, self.root(), K::carry(key), then);
    }

    /// Adds an entry or replaces its value, depending on `mode`.
    pub fn write<S, F>(&self, at: S, key: K::Arg<'_>, value: V, mode: WriteMode, then: F)
    where
        S: Spawner,
        F: FnOnce(WriteOutcome<V>, &mut Context) + Send + 'static,
    {
        let change = write::PutEntry::new(value, mode);
        let then =
            move |wrote: WriteOutcome<u64>, cx: &mut Context| then(value_words::outcome(wrote, cx), cx);
        write::begin(at, self.root(), K::carry(key), change, then);
    }

    /// Adds an entry. The continuation gets `false` if the key exists; then nothing is changed.
    pub fn insert<S, F>(&self, at: S, key: K::Arg<'_>, value: V, then: F)
    where
        S: Spawner,
        F: FnOnce(bool, &mut Context) + Send + 'static,
    {
        self.write(at, key, value, WriteMode::Insert, move |wrote, cx| then(wrote.is_inserted(), cx));
    }

    /// Adds an entry or replaces its value. The continuation gets the old value.
    pub fn upsert<S, F>(&self, at: S, key: K::Arg<'_>, value: V, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        self.write(at, key, value, WriteMode::Upsert, move |wrote, cx| then(wrote.replaced(), cx));
    }

    /// Replaces the value of an existing key. The continuation gets the old value.
    pub fn update<S, F>(&self, at: S, key: K::Arg<'_>, value: V, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        self.write(at, key, value, WriteMode::Update, move |wrote, cx| then(wrote.replaced(), cx));
    }

    /// Atomically changes the value of an existing key. The continuation gets the old value.
    /// `change` runs at most once.
    pub fn modify<S, C, F>(&self, at: S, key: K::Arg<'_>, change: C, then: F)
    where
        S: Spawner,
        C: FnOnce(V) -> V + Send + 'static,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let change = write::ModifyEntry::<V, _>::new(change);
        let then = move |old: Option<u64>, cx: &mut Context| {
            then(old.map(|word| value_words::take(word, cx)), cx);
        };
        write::begin(at, self.root(), K::carry(key), change, then);
    }

    /// Removes an entry. The continuation gets the old value. A leaf that becomes empty is unlinked
    /// and freed.
    pub fn remove<S, F>(&self, at: S, key: K::Arg<'_>, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let then = move |old: Option<u64>, cx: &mut Context| {
            then(old.map(|word| value_words::take(word, cx)), cx);
        };
        write::begin(at, self.root(), K::carry(key), write::RemoveEntry, then);
    }

    /// Returns the runtime that the tree belongs to.
    pub(crate) fn runtime(&self) -> RuntimeId {
        self.root.peek().runtime
    }

    /// Returns the primitive of the nodes.
    pub(crate) fn primitive(&self) -> Primitive {
        self.root.peek().arena.primitive()
    }

    /// Memory used by the nodes, without values on the heap and the side records of a
    /// [`BytesNode`](crate::BytesNode).
    pub fn memory(&self) -> ArenaStats {
        self.root.peek().arena.stats()
    }
}

impl<K: Key, V, L: Layout> Clone for Tree<K, V, L> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), types: PhantomData }
    }
}
