//! Many operations at once: bundles of walks.
//!
//! | file | contents |
//! |---|---|
//! | `gets` | lookups |
//! | `changes` | adding, replacing and removing entries |
//! | `requests` | operations of all kinds |

mod changes;
mod gets;
mod requests;

use super::handle::Tree;
use crate::batch::{Request, Response};
use crate::key_value::Key;
use crate::many::{Operations, run};
use crate::node::{Layout, WriteMode};
use crate::value::Value;
use crate::write_outcome::WriteOutcome;
use core::marker::PhantomData;
use requests::Requests;
use xtasking::{Context, JoinError, Runtime, bundle::Bundle};

/// For the client. Each blocks, and returns the results in the order of the operations.
impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    pub(crate) fn get_many(&self, rt: &Runtime, keys: &[K::Arg<'_>]) -> Result<Vec<Option<V>>, JoinError> {
        run(rt, self.root.peek(), || gets::Gets::<K, V, L>(PhantomData), keys, None)
    }

    pub(crate) fn write_many<R: Clone + Send>(
        &self,
        rt: &Runtime,
        entries: &[(K::Arg<'_>, V)],
        mode: WriteMode,
        result: fn(WriteOutcome<V>) -> R,
    ) -> Result<Vec<R>, JoinError> {
        let nothing = result(WriteOutcome::Missing);
        let puts = || changes::Puts::<K, _, L, _> { mode, result, types: PhantomData };
        run(rt, self.root.peek(), puts, entries, nothing)
    }

    pub(crate) fn remove_many(&self, rt: &Runtime, keys: &[K::Arg<'_>]) -> Result<Vec<Option<V>>, JoinError> {
        run(rt, self.root.peek(), || changes::Removes::<K, V, L>(PhantomData), keys, None)
    }

    pub(crate) fn request_many(
        &self,
        rt: &Runtime,
        requests: &[Request<K::Arg<'_>, V>],
    ) -> Result<Vec<Response<V>>, JoinError> {
        run(rt, self.root.peek(), || Requests::<K, V, L>(PhantomData), requests, Response::Get(None))
    }
}

/// For tasks.
impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    /// Returns a bundle of lookups, for one worker: it keeps many of them in flight. `done` gets
    /// each key's tag and value, in any order.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_index::Tree;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Tree::<u64, u64>::new(&rt);
    /// let entries: Vec<_> = (0..1000).map(|key| (key, key * key)).collect();
    /// tree.client(&rt).insert_many(&entries)?;
    ///
    /// let mut sums = [0; 2];
    /// rt.task_scope(|scope| {
    ///     for ((task, keys), sum) in scope.shares(0..1000).zip(&mut sums) {
    ///         let keys = keys.map(|key| (key as u64, ()));
    ///         task.bundle(tree.gets(keys, |(), value, _| *sum += value.unwrap().unwrap()));
    ///     }
    /// })?;
    /// assert_eq!(sums[0] + sums[1], (0..1000).map(|key| key * key).sum());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gets<'k, T, I, D>(&self, keys: I, done: D) -> impl Bundle + use<'k, K, V, L, T, I, D>
    where
        T: Send,
        I: Iterator<Item = (K::Arg<'k>, T)> + Send,
        D: FnMut(T, Result<Option<V>, JoinError>, &mut Context) + Send,
        K: 'k,
    {
        Operations::new(gets::Gets::<K, V, L>(PhantomData), self.root.peek(), self.clone(), keys, done)
    }

    /// Returns a bundle of operations of all kinds, for one worker: it keeps many of them in
    /// flight. `done` gets each request's tag and response, in any order.
    ///
    /// Requests that are in flight together may overtake each other, also those of one key. See
    /// [`gets`](Self::gets) for how to use all workers.
    pub fn requests<'k, T, I, D>(&self, requests: I, done: D) -> impl Bundle + use<'k, K, V, L, T, I, D>
    where
        T: Send,
        I: Iterator<Item = (Request<K::Arg<'k>, V>, T)> + Send,
        D: FnMut(T, Result<Response<V>, JoinError>, &mut Context) + Send,
        K: 'k,
    {
        Operations::new(Requests::<K, V, L>(PhantomData), self.root.peek(), self.clone(), requests, done)
    }
}
