//! The tree: its handle, its root, and where its operations begin.
//!
//! # Who reaches what
//!
//! [`Root`] is an object of the runtime: it lives until all handles are gone and every task that was spawned before has
//! run. So the tasks of an operation carry a plain pointer to it ([`RootRef`]). Nodes live in the root's arena. A node
//! is retired once no other node (nor the root) links to it; operations that began before may still come by.
//!
//! # Structure changes
//!
//! A split makes the new right node reachable by the right link first; an operation of its own then tells the level
//! above ([`separate`]). Removing the last entry of a leaf starts an operation that merges it with a sibling
//! ([`merge`]): the only tasks that hold several nodes. A dead node's right link leads to the node that took over its
//! keys, so nobody who still comes to it has to start again.

mod bulk;
mod carry;
mod check;
mod lookup;
mod merge;
mod scan;
mod separate;
mod write;
mod wrote;

pub use crate::node::Write;
pub use carry::{Carry, carry};
pub use check::{Defect, Report};
pub use wrote::Wrote;

use crate::client::Client;
use crate::fixed::{Key, Value};
use crate::node::{Hinted, Layout, words};
use core::marker::PhantomData;
use core::ptr::NonNull;
use xtasking::{
    Arena, ArenaStats, Context, Frequency, LegalFor, Link, LinkCell, Object, OptimisticLatched, Reserved,
    Runtime, RuntimeId, Spawner, Step, Version, Versioned,
};

/// Nodes of 1 KiB with a hint line.
pub type DefaultLayout = Hinted<{ words(1024) }>;

/// An ordered map from keys to values of up to 64 bits, for annotated tasks.
///
/// Clones share the tree. Inside the runtime each operation takes a continuation, which gets the result and the
/// context of whichever worker the operation ended on; for plain threads see [`client`](Self::client). Operations on
/// one key take effect one after another; operations that one task starts may overtake each other.
pub struct Tree<K, V, L: Layout = DefaultLayout> {
    root: Object<Versioned<Root<L>>>,
    types: PhantomData<fn(K) -> V>,
}

/// What all operations share.
pub(crate) struct Root<L: Layout> {
    pub(crate) link: LinkCell<L>,
    runtime: RuntimeId,
    pub(crate) arena: Arena<L>,
}

// SAFETY: the link is atomic; the arena never changes.
unsafe impl<L: Layout> Version for Root<L> {}

impl<L: Layout> Drop for Root<L> {
    fn drop(&mut self) {
        // SAFETY: the object is freed after every task that could reach it, and with it a node of its arena.
        unsafe { self.arena.clone().dispose() };
    }
}

/// A pointer to the root, for the tasks of an operation.
pub(crate) struct RootRef<L: Layout>(NonNull<Root<L>>);

// SAFETY: a reference to something that is `Sync`.
unsafe impl<L: Layout> Send for RootRef<L> {}
impl<L: Layout> Clone for RootRef<L> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<L: Layout> Copy for RootRef<L> {}

impl<L: Layout> RootRef<L> {
    /// The topmost node, for an operation that a task begins. (Nobody else may ask: without an epoch the node might be
    /// freed before the operation's first task is counted.)
    #[inline(always)]
    pub(crate) fn top<S: Spawner>(self, at: &S) -> Link<L> {
        debug_assert!(S::IN_TASK);
        // SAFETY: as for `get`: whoever begins an operation has a handle.
        let root = unsafe { self.0.as_ref() };
        assert!(root.runtime == at.runtime(), "a tree is used by a task of another runtime");
        root.link.get()
    }

    /// The root.
    ///
    /// `RootRef`s are only made from a tree's handle, to be carried by the tasks of an operation that is begun with it;
    /// the context stands for the running one of them.
    #[inline(always)]
    pub(crate) fn get<'a>(self, _: &Context) -> &'a Root<L> {
        // SAFETY: a handle was there when the operation's first task was spawned, so the root outlives all of them; no
        // caller keeps the reference beyond its task.
        unsafe { self.0.as_ref() }
    }
}

/// Marks on links: what a visitor has to know of a node before it has arrived. It is the node's level.
pub(crate) mod mark {
    /// A leaf.
    pub const LEAF: u8 = 0;
    /// The highest level that is told from others; a tree of so many does not fit into any memory.
    pub const HIGHEST: u8 = 15;
}

/// A link to a new node of that level, marked for its visitors. The topmost node and its children (where these are not
/// leaves or their parents) are so few and so often visited that they stay in the cache; already the level below them
/// would have to share it with all that passes by.
pub(crate) fn marked<L: Layout>(link: Link<L>, level: u64, top_level: u64) -> Link<L> {
    let link = link.with_mark(level.min(mark::HIGHEST.into()) as u8);
    if level >= 2 && level + 1 >= top_level { link.with_frequency(Frequency::High) } else { link }
}

/// The link that a node's word stands for; `None` for 0.
#[inline(always)]
pub(crate) fn link_of<L: Layout>(word: u64) -> Option<Link<L>> {
    // SAFETY: the words that come here are right links and values of inner nodes. These places never hold anything but
    // 0 and words of links, not even while they are written; which link it is, is known once the reading is validated.
    unsafe { Link::from_word(word) }
}

/// The step of a walk to the node of that word.
#[inline(always)]
pub(crate) fn go_to<L: Layout, O>(word: u64) -> Step<L, O> {
    match link_of(word) {
        Some(next) => Step::Go(next, L::FIRST),
        None => Step::Again,
    }
}

/// The link that a reserved place will have, as a word to store in other nodes.
pub(crate) fn future_link<L: Layout>(place: &Reserved<'_, L>, level: u64, top_level: u64) -> Link<L> {
    // SAFETY: callers store it in nodes that they hold for writing, and fill the place before they let go.
    marked(unsafe { place.link() }, level, top_level)
}

impl<K: Key, V: Value, L: Layout> Tree<K, V, L> {
    /// An empty tree whose nodes' writers are latched.
    pub fn new(rt: &Runtime) -> Self {
        Self::with_primitive(rt, OptimisticLatched)
    }

    /// An empty tree whose nodes have that primitive.
    pub fn with_primitive<P: LegalFor<Versioned<L>>>(rt: &Runtime, primitive: P) -> Self {
        let arena = Arena::with_primitive(rt, primitive);
        let link = marked(arena.alloc_outside(L::new(0, 0)), 0, 0);
        Self::from_parts(rt, link, arena)
    }

    fn from_parts(rt: &Runtime, link: Link<L>, arena: Arena<L>) -> Self {
        let root = Root { link: LinkCell::new(link), runtime: rt.runtime(), arena };
        Self { root: rt.versioned(root).build(), types: PhantomData }
    }

    fn root(&self) -> RootRef<L> {
        RootRef(NonNull::from(self.root.peek()))
    }

    fn top(&self) -> Link<L> {
        self.root.peek().link.get()
    }

    /// Looks `key` up.
    #[inline]
    pub fn get<S, F>(&self, at: S, key: K, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let then = move |value: Option<u64>, cx: &mut Context| then(value.map(V::from_word), cx);
        lookup::begin(at, self.root(), key.to_word(), then);
    }

    /// Adds an entry, or replaces its value, as `how` says, and tells what came of it.
    pub fn write<S, F>(&self, at: S, key: K, value: V, how: Write, then: F)
    where
        S: Spawner,
        F: FnOnce(Wrote<V>, &mut Context) + Send + 'static,
    {
        let change = write::Put { value: value.to_word(), how };
        let then = move |wrote: Wrote<u64>, cx: &mut Context| then(Wrote::of_word(wrote), cx);
        write::begin(at, self.root(), key.to_word(), change, then);
    }

    /// Adds an entry; `false` if the key is there already, which changes nothing.
    pub fn insert<S, F>(&self, at: S, key: K, value: V, then: F)
    where
        S: Spawner,
        F: FnOnce(bool, &mut Context) + Send + 'static,
    {
        self.write(at, key, value, Write::Insert, move |wrote, cx| then(wrote.is_inserted(), cx));
    }

    /// Adds an entry or replaces its value, and gives the value it had.
    pub fn upsert<S, F>(&self, at: S, key: K, value: V, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        self.write(at, key, value, Write::Upsert, move |wrote, cx| then(wrote.replaced(), cx));
    }

    /// Replaces the value of a key that is there, and gives the value it had.
    pub fn update<S, F>(&self, at: S, key: K, value: V, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        self.write(at, key, value, Write::Update, move |wrote, cx| then(wrote.replaced(), cx));
    }

    /// Changes the value of a key that is there, in one step, and gives the value it had. `change` runs once.
    pub fn modify<S, C, F>(&self, at: S, key: K, change: C, then: F)
    where
        S: Spawner,
        C: FnOnce(V) -> V + Send + 'static,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let change = write::Change(Some(move |value| change(V::from_word(value)).to_word()));
        let then = move |old: Option<u64>, cx: &mut Context| then(old.map(V::from_word), cx);
        write::begin(at, self.root(), key.to_word(), change, then);
    }

    /// Removes an entry, and gives the value it had. A leaf that becomes empty is unlinked and freed.
    pub fn remove<S, F>(&self, at: S, key: K, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<V>, &mut Context) + Send + 'static,
    {
        let then = move |old: Option<u64>, cx: &mut Context| then(old.map(V::from_word), cx);
        write::begin(at, self.root(), key.to_word(), write::Remove, then);
    }

    /// Collects up to `limit` entries from key `from` on, in order. Each leaf is read as a whole; between leaves others
    /// may write.
    pub fn scan<S, F>(&self, at: S, from: K, limit: usize, then: F)
    where
        S: Spawner,
        F: FnOnce(Vec<(K, V)>, &mut Context) + Send + 'static,
    {
        scan::begin(at, self.root(), from.to_word(), scan::Collect::new(limit), then);
    }

    /// Counts the entries: all that are there from before the operation until after it, and perhaps some of the others.
    pub fn count<S, F>(&self, at: S, then: F)
    where
        S: Spawner,
        F: FnOnce(u64, &mut Context) + Send + 'static,
    {
        scan::begin(at, self.root(), 0, scan::Count::default(), then);
    }

    /// The tree's face for plain threads.
    ///
    /// # Panics
    ///
    /// If the tree belongs to another runtime.
    pub fn client<'a>(&self, rt: &'a Runtime) -> Client<'a, K, V, L> {
        assert!(self.root.peek().runtime == rt.runtime(), "a tree's client is made for another runtime");
        Client::new(self.clone(), rt)
    }

    /// How much memory the nodes take.
    pub fn memory(&self) -> ArenaStats {
        self.root.peek().arena.stats()
    }
}

impl<K, V, L: Layout> Clone for Tree<K, V, L> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), types: PhantomData }
    }
}
