//! Access to the tree from plain threads: calls that block until the operation is done.

use crate::key_value::{Key, Value};
use crate::node::{Layout, WriteMode};
use crate::tree::{DefaultLayout, Tree, with_state};
use std::sync::Arc;
use xtasking::{Context, Handle, JoinError, Promise, Runtime, task::Spawner};

impl<K: Key, V: Value, L: Layout> Tree<K, V, L> {
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
/// Each call blocks until its operation is done. Use the batches for speed: they keep many
/// operations in flight on every worker, so that some fetch nodes while others run.
///
/// # Errors
///
/// Every call fails
/// - with [`JoinError::WouldBlock`] on a worker of the same runtime, which cannot wait for its own
///   work (use the tree's own operations there),
/// - with [`JoinError::Poisoned`] or [`JoinError::Abandoned`] if a panic has left a node
///   half-written,
/// - with [`JoinError::Abandoned`] if there was no memory for a task of the operation. In this case
///   a change may have been made nonetheless; the tree stays consistent.
pub struct Client<'a, K, V, L: Layout = DefaultLayout> {
    tree: Tree<K, V, L>,
    rt: &'a Runtime,
}

/// Operations of a batch that are in flight per worker: enough to hide the fetches of both prefetch
/// distances.
const PIPELINES_PER_WORKER: usize = 64;

impl<'a, K: Key, V: Value, L: Layout> Client<'a, K, V, L> {
    pub(crate) fn new(tree: Tree<K, V, L>, rt: &'a Runtime) -> Self {
        Self { tree, rt }
    }

    /// Starts one operation, which fulfils the promise, and waits for it.
    fn run<R: Send>(&self, start: impl FnOnce(&Tree<K, V, L>, &Runtime, Promise<R>)) -> Result<R, JoinError> {
        if !self.rt.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let (promise, handle) = self.rt.promise();
        start(&self.tree, self.rt, promise);
        handle.join()
    }

    /// Looks up `key`.
    pub fn get(&self, key: K) -> Result<Option<V>, JoinError> {
        self.run(|tree, rt, promise| tree.get(rt, key, |value, _| promise.fulfil(value)))
    }

    /// Adds an entry. Returns false if the key exists; then nothing is changed.
    pub fn insert(&self, key: K, value: V) -> Result<bool, JoinError> {
        self.run(|tree, rt, promise| tree.insert(rt, key, value, |new, _| promise.fulfil(new)))
    }

    /// Adds an entry or replaces its value. Returns the old value.
    pub fn upsert(&self, key: K, value: V) -> Result<Option<V>, JoinError> {
        self.run(|tree, rt, promise| tree.upsert(rt, key, value, |old, _| promise.fulfil(old)))
    }

    /// Replaces the value of an existing key. Returns the old value.
    pub fn update(&self, key: K, value: V) -> Result<Option<V>, JoinError> {
        self.run(|tree, rt, promise| tree.update(rt, key, value, |old, _| promise.fulfil(old)))
    }

    /// Atomically changes the value of an existing key. Returns the old value.
    pub fn modify(
        &self,
        key: K,
        change: impl FnOnce(V) -> V + Send + 'static,
    ) -> Result<Option<V>, JoinError> {
        self.run(|tree, rt, promise| tree.modify(rt, key, change, |old, _| promise.fulfil(old)))
    }

    /// Removes an entry. Returns the old value.
    pub fn remove(&self, key: K) -> Result<Option<V>, JoinError> {
        self.run(|tree, rt, promise| tree.remove(rt, key, |old, _| promise.fulfil(old)))
    }

    /// Returns up to `limit` entries from key `from` on, in order.
    pub fn scan(&self, from: K, limit: usize) -> Result<Vec<(K, V)>, JoinError> {
        self.run(|tree, rt, promise| tree.scan(rt, from, limit, |entries, _| promise.fulfil(entries)))
    }

    /// Counts the entries; see [`Tree::count`].
    pub fn count(&self) -> Result<u64, JoinError> {
        self.run(|tree, rt, promise| tree.count(rt, |count, _| promise.fulfil(count)))
    }

    /// Looks up many keys. The results are in the order of the keys.
    pub fn get_many(&self, keys: Vec<K>) -> Result<Vec<Option<V>>, JoinError> {
        self.batch(keys, |pipeline, key, cx| with_state(pipeline).get(cx, key, Pipeline::complete))
    }

    /// Adds many entries, each like [`insert`](Self::insert).
    pub fn insert_many(&self, entries: Vec<(K, V)>) -> Result<Vec<bool>, JoinError> {
        self.batch(entries, |pipeline, (key, value), cx| {
            with_state(pipeline).write(cx, key, value, WriteMode::Insert, |pipeline, wrote, cx| {
                Pipeline::complete(pipeline, wrote.is_inserted(), cx);
            });
        })
    }

    /// Adds or replaces many entries, each like [`upsert`](Self::upsert).
    pub fn upsert_many(&self, entries: Vec<(K, V)>) -> Result<Vec<Option<V>>, JoinError> {
        self.batch(entries, |pipeline, (key, value), cx| {
            with_state(pipeline).write(cx, key, value, WriteMode::Upsert, |pipeline, wrote, cx| {
                Pipeline::complete(pipeline, wrote.replaced(), cx);
            });
        })
    }

    /// Removes many entries, each like [`remove`](Self::remove).
    pub fn remove_many(&self, keys: Vec<K>) -> Result<Vec<Option<V>>, JoinError> {
        self.batch(keys, |pipeline, key, cx| with_state(pipeline).remove(cx, key, Pipeline::complete))
    }

    /// Runs many operations, [`PIPELINES_PER_WORKER`] at a time on each worker.
    fn batch<O, R>(&self, operations: Vec<O>, start: Start<K, V, L, O, R>) -> Result<Vec<R>, JoinError>
    where
        O: Copy + Send + Sync + 'static,
        R: Send + 'static,
    {
        if !self.rt.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let pipelines = (self.rt.workers() * PIPELINES_PER_WORKER).min(operations.len());
        let len = operations.len();
        let operations = Arc::new(operations);
        let handles: Vec<Handle<Vec<R>>> = (0..pipelines)
            .map(|first| {
                let (promise, handle) = self.rt.promise();
                let results = Vec::with_capacity(len.div_ceil(pipelines));
                let (tree, operations) = (self.tree.clone(), operations.clone());
                let pipeline =
                    Box::new(Pipeline { tree, operations, next: first, pipelines, results, promise, start });
                let worker = (first % self.rt.workers()) as u16;
                self.rt.task(()).core(worker).spawn(move |(), cx| pipeline.advance(cx));
                handle
            })
            .collect();
        let mut results = Vec::with_capacity(pipelines);
        for handle in handles {
            results.push(handle.join()?.into_iter());
        }
        // Pipeline `p` has run the operations `p`, `p + pipelines` and so on.
        Ok((0..len).filter_map(|index| results[index % pipelines].next()).collect())
    }
}

/// Starts one operation, whose continuation is [`Pipeline::complete`].
type Start<K, V, L, O, R> = fn(Box<Pipeline<K, V, L, O, R>>, O, &mut Context);

/// Runs every `pipelines`-th operation of a batch, one after another.
struct Pipeline<K, V, L: Layout, O, R> {
    tree: Tree<K, V, L>,
    operations: Arc<Vec<O>>,
    next: usize,
    pipelines: usize,
    results: Vec<R>,
    promise: Promise<Vec<R>>,
    start: Start<K, V, L, O, R>,
}

impl<K, V, L: Layout, O, R> AsRef<Tree<K, V, L>> for Box<Pipeline<K, V, L, O, R>> {
    fn as_ref(&self) -> &Tree<K, V, L> {
        &self.tree
    }
}

impl<K, V, L: Layout, O: Copy, R> Pipeline<K, V, L, O, R> {
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        match self.operations.get(self.next).copied() {
            Some(operation) => {
                self.next += self.pipelines;
                (self.start)(self, operation, cx);
            }
            None => {
                let Self { promise, results, .. } = *self;
                promise.fulfil(results);
            }
        }
    }

    /// Continues after an operation has ended.
    fn complete(mut self: Box<Self>, result: R, cx: &mut Context) {
        self.results.push(result);
        self.advance(cx);
    }
}
