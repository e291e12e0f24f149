//! The tree for plain threads: calls that return.

use crate::fixed::{Key, Value};
use crate::node::{Layout, Write};
use crate::tree::{DefaultLayout, Tree, carry};
use std::sync::Arc;
use xtasking::{Context, Handle, JoinError, Promise, Runtime};

/// A tree's face for plain threads; made by [`Tree::client`].
///
/// Each call waits for its operation. What needs speed uses the batches: they keep many operations in flight on every
/// worker, so that the nodes of some are fetched while others are run.
///
/// # Errors
///
/// Every call fails with [`JoinError::WouldBlock`] on a worker of the same runtime, which cannot wait for its own work
/// (use the tree's own operations there), with [`JoinError::Poisoned`] or [`JoinError::Abandoned`] where a node was left
/// half-written by a panic, and with [`JoinError::Abandoned`] where there was no memory for one of an operation's tasks.
/// In this last case a change may have been made all the same; the tree stays in order.
pub struct Client<'a, K, V, L: Layout = DefaultLayout> {
    tree: Tree<K, V, L>,
    rt: &'a Runtime,
}

/// Operations of a batch that each worker has in flight: enough for the fetches of both distances.
const LANES: usize = 64;

impl<'a, K: Key, V: Value, L: Layout> Client<'a, K, V, L> {
    pub(crate) fn new(tree: Tree<K, V, L>, rt: &'a Runtime) -> Self {
        Self { tree, rt }
    }

    /// Waits for one operation, which fulfils the promise.
    fn wait<R: Send>(
        &self,
        start: impl FnOnce(&Tree<K, V, L>, &Runtime, Promise<R>),
    ) -> Result<R, JoinError> {
        if !self.rt.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let (promise, handle) = self.rt.promise();
        start(&self.tree, self.rt, promise);
        handle.join()
    }

    /// Looks `key` up.
    pub fn get(&self, key: K) -> Result<Option<V>, JoinError> {
        self.wait(|tree, rt, promise| tree.get(rt, key, |value, _| promise.fulfil(value)))
    }

    /// Adds an entry; `false` if the key is there already, which changes nothing.
    pub fn insert(&self, key: K, value: V) -> Result<bool, JoinError> {
        self.wait(|tree, rt, promise| tree.insert(rt, key, value, |new, _| promise.fulfil(new)))
    }

    /// Adds an entry or replaces its value, and gives the value it had.
    pub fn upsert(&self, key: K, value: V) -> Result<Option<V>, JoinError> {
        self.wait(|tree, rt, promise| tree.upsert(rt, key, value, |old, _| promise.fulfil(old)))
    }

    /// Replaces the value of a key that is there, and gives the value it had.
    pub fn update(&self, key: K, value: V) -> Result<Option<V>, JoinError> {
        self.wait(|tree, rt, promise| tree.update(rt, key, value, |old, _| promise.fulfil(old)))
    }

    /// Changes the value of a key that is there, in one step, and gives the value it had.
    pub fn modify(
        &self,
        key: K,
        change: impl FnOnce(V) -> V + Send + 'static,
    ) -> Result<Option<V>, JoinError> {
        self.wait(|tree, rt, promise| tree.modify(rt, key, change, |old, _| promise.fulfil(old)))
    }

    /// Removes an entry, and gives the value it had.
    pub fn remove(&self, key: K) -> Result<Option<V>, JoinError> {
        self.wait(|tree, rt, promise| tree.remove(rt, key, |old, _| promise.fulfil(old)))
    }

    /// Up to `limit` entries from key `from` on, in order.
    pub fn scan(&self, from: K, limit: usize) -> Result<Vec<(K, V)>, JoinError> {
        self.wait(|tree, rt, promise| tree.scan(rt, from, limit, |entries, _| promise.fulfil(entries)))
    }

    /// Number of entries.
    pub fn count(&self) -> Result<u64, JoinError> {
        self.wait(|tree, rt, promise| tree.count(rt, |count, _| promise.fulfil(count)))
    }

    /// Looks many keys up; the results stand in the order of the keys.
    pub fn get_many(&self, keys: Vec<K>) -> Result<Vec<Option<V>>, JoinError> {
        self.batch(keys, |lane, key, cx| carry(lane).get(cx, key, Lane::went_on))
    }

    /// Adds many entries, each as [`insert`](Self::insert) does.
    pub fn insert_many(&self, entries: Vec<(K, V)>) -> Result<Vec<bool>, JoinError> {
        self.batch(entries, |lane, (key, value), cx| {
            carry(lane).write(cx, key, value, Write::Insert, |lane, wrote, cx| {
                Lane::went_on(lane, wrote.is_inserted(), cx);
            });
        })
    }

    /// Adds or replaces many entries.
    pub fn upsert_many(&self, entries: Vec<(K, V)>) -> Result<Vec<Option<V>>, JoinError> {
        self.batch(entries, |lane, (key, value), cx| {
            carry(lane).write(cx, key, value, Write::Upsert, |lane, wrote, cx| {
                Lane::went_on(lane, wrote.replaced(), cx);
            });
        })
    }

    /// Removes many entries.
    pub fn remove_many(&self, keys: Vec<K>) -> Result<Vec<Option<V>>, JoinError> {
        self.batch(keys, |lane, key, cx| carry(lane).remove(cx, key, Lane::went_on))
    }

    /// Runs many operations, [`LANES`] at a time on each worker.
    fn batch<O, R>(&self, operations: Vec<O>, start: Start<K, V, L, O, R>) -> Result<Vec<R>, JoinError>
    where
        O: Copy + Send + Sync + 'static,
        R: Send + 'static,
    {
        if !self.rt.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let lanes = (self.rt.workers() * LANES).min(operations.len());
        let len = operations.len();
        let operations = Arc::new(operations);
        let handles: Vec<Handle<Vec<R>>> = (0..lanes)
            .map(|first| {
                let (promise, handle) = self.rt.promise();
                let results = Vec::with_capacity(len.div_ceil(lanes));
                let (tree, operations) = (self.tree.clone(), operations.clone());
                let lane = Box::new(Lane { tree, operations, next: first, lanes, results, promise, start });
                let worker = (first % self.rt.workers()) as u16;
                self.rt.task(()).core(worker).spawn(move |(), cx| lane.go(cx));
                handle
            })
            .collect();
        let mut results = Vec::with_capacity(lanes);
        for handle in handles {
            results.push(handle.join()?.into_iter());
        }
        // Operation i was the next one of lane i modulo their number.
        Ok((0..len).filter_map(|index| results[index % lanes].next()).collect())
    }
}

/// Starts one operation, which ends in [`Lane::went_on`].
type Start<K, V, L, O, R> = fn(Box<Lane<K, V, L, O, R>>, O, &mut Context);

/// One of the operations in flight, and those that follow it: every `lanes`-th of the batch.
struct Lane<K, V, L: Layout, O, R> {
    tree: Tree<K, V, L>,
    operations: Arc<Vec<O>>,
    next: usize,
    lanes: usize,
    results: Vec<R>,
    promise: Promise<Vec<R>>,
    start: Start<K, V, L, O, R>,
}

impl<K, V, L: Layout, O, R> AsRef<Tree<K, V, L>> for Box<Lane<K, V, L, O, R>> {
    fn as_ref(&self) -> &Tree<K, V, L> {
        &self.tree
    }
}

impl<K, V, L: Layout, O: Copy, R> Lane<K, V, L, O, R> {
    fn go(mut self: Box<Self>, cx: &mut Context) {
        match self.operations.get(self.next).copied() {
            Some(operation) => {
                self.next += self.lanes;
                (self.start)(self, operation, cx);
            }
            None => {
                let Self { promise, results, .. } = *self;
                promise.fulfil(results);
            }
        }
    }

    /// An operation has ended.
    fn went_on(mut self: Box<Self>, result: R, cx: &mut Context) {
        self.results.push(result);
        self.go(cx);
    }
}
