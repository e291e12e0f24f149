//! Access to the tree from plain threads: calls that return when the operation is done.
//!
//! The calling thread reads by itself, and waits for tasks that change entries or run batches.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | calls with one key, and batches |
//! | `ranges` | calls that read ranges of keys |
//! | `iter` | an iterator: [`Range`] |

mod iter;
mod ranges;

pub use iter::Range;

use crate::batch::{Request, Response};
use crate::caller::Caller;
use crate::key_value::Key;
use crate::node::{Layout, WriteMode};
use crate::tree::Tree;
use crate::value::Value;
use crate::write_outcome::WriteOutcome;
use xtasking::{JoinError, Runtime, task::Spawner};

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    /// Returns a client for plain threads.
    ///
    /// # Panics
    ///
    /// Panics if the tree belongs to another runtime.
    pub fn client<'a>(&self, rt: &'a Runtime) -> Client<'a, K, V, L> {
        assert!(self.runtime() == rt.runtime(), "a client must be created for the runtime of its tree");
        Client::new(self.clone(), rt)
    }
}

/// Access to a tree from plain threads; made by [`Tree::client`].
///
/// [`get`](Self::get) and the calls that read in order, such as [`scan`](Self::scan),
/// [`range`](Self::range) and [`count`](Self::count), read on the calling thread, beside the tasks
/// that change the tree, and wait for nothing as a rule. Two kinds of runtimes and trees are
/// different: in a [`Simulation`](xtasking::platform::Simulation), and in trees with
/// [`Sequencing`](xtasking::primitive::Sequencing), these calls wait for a task. Every other call
/// does so anywhere.
///
/// Use the batches for speed: each worker runs them as one task with many walks in flight, some of
/// which fetch nodes while others run.
///
/// A removed node is freed only after the calls that began before. So a scan of many entries keeps
/// in memory what is removed meanwhile; an [iterator](Self::range) does not.
///
/// # Errors
///
/// Every call fails
/// - with [`JoinError::WouldBlock`] on a worker of the same runtime, which cannot wait for its own
///   work (use the tree's own operations there),
/// - with [`JoinError::Poisoned`] or [`JoinError::Abandoned`] if a panic has left a node
///   half-written,
/// - with [`JoinError::Abandoned`] or [`JoinError::OutOfMemory`] if there was no memory for a task
///   of the operation. In this case a change may have been made nonetheless; the tree stays
///   consistent.
pub struct Client<'a, K: Key, V, L: Layout = <K as Key>::Node> {
    tree: Tree<K, V, L>,
    caller: Caller<'a>,
}

impl<'a, K: Key, V: Value, L: Layout<Keys = K::Keys>> Client<'a, K, V, L> {
    pub(crate) fn new(tree: Tree<K, V, L>, rt: &'a Runtime) -> Self {
        let caller = Caller::new(rt, tree.primitive());
        Self { tree, caller }
    }

    /// Looks up `key`.
    #[inline]
    pub fn get(&self, key: K::Arg<'_>) -> Result<Option<V>, JoinError> {
        if self.caller.reads_in_place() {
            return self.caller.read(|reader| self.tree.get_in_place(reader, key));
        }
        self.caller.run(|rt, promise| self.tree.get(rt, key, |value, _| promise.fulfil(value)))
    }

    /// Adds an entry. Returns false if the key exists; then nothing is changed.
    pub fn insert(&self, key: K::Arg<'_>, value: V) -> Result<bool, JoinError> {
        self.caller.run(|rt, promise| self.tree.insert(rt, key, value, |new, _| promise.fulfil(new)))
    }

    /// Adds an entry or replaces its value. Returns the old value.
    pub fn upsert(&self, key: K::Arg<'_>, value: V) -> Result<Option<V>, JoinError> {
        self.caller.run(|rt, promise| self.tree.upsert(rt, key, value, |old, _| promise.fulfil(old)))
    }

    /// Replaces the value of an existing key. Returns the old value.
    pub fn update(&self, key: K::Arg<'_>, value: V) -> Result<Option<V>, JoinError> {
        self.caller.run(|rt, promise| self.tree.update(rt, key, value, |old, _| promise.fulfil(old)))
    }

    /// Atomically changes the value of an existing key. Returns the old value.
    pub fn modify(
        &self,
        key: K::Arg<'_>,
        change: impl FnOnce(V) -> V + Send + 'static,
    ) -> Result<Option<V>, JoinError> {
        self.caller.run(|rt, promise| self.tree.modify(rt, key, change, |old, _| promise.fulfil(old)))
    }

    /// Removes an entry. Returns the old value.
    pub fn remove(&self, key: K::Arg<'_>) -> Result<Option<V>, JoinError> {
        self.caller.run(|rt, promise| self.tree.remove(rt, key, |old, _| promise.fulfil(old)))
    }

    /// Looks up many keys. The results are in the order of the keys.
    pub fn get_many(&self, keys: &[K::Arg<'_>]) -> Result<Vec<Option<V>>, JoinError> {
        self.tree.get_many(self.caller.runtime(), keys)
    }

    /// Adds many entries, each like [`insert`](Self::insert), in any order.
    pub fn insert_many(&self, entries: &[(K::Arg<'_>, V)]) -> Result<Vec<bool>, JoinError> {
        self.tree.write_many(self.caller.runtime(), entries, WriteMode::Insert, |wrote| wrote.is_inserted())
    }

    /// Adds or replaces many entries, each like [`upsert`](Self::upsert), in any order.
    pub fn upsert_many(&self, entries: &[(K::Arg<'_>, V)]) -> Result<Vec<Option<V>>, JoinError> {
        self.tree.write_many(self.caller.runtime(), entries, WriteMode::Upsert, WriteOutcome::replaced)
    }

    /// Runs operations of all kinds, in any order. The responses are in the order of the requests.
    pub fn request_many(&self, requests: &[Request<K::Arg<'_>, V>]) -> Result<Vec<Response<V>>, JoinError> {
        self.tree.request_many(self.caller.runtime(), requests)
    }

    /// Removes many entries, each like [`remove`](Self::remove), in any order.
    pub fn remove_many(&self, keys: &[K::Arg<'_>]) -> Result<Vec<Option<V>>, JoinError> {
        self.tree.remove_many(self.caller.runtime(), keys)
    }
}
