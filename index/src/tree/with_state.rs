//! Operations that carry the caller's state.

use super::handle::Tree;
use super::key_range::KeyRange;
use super::order::Ascending;
use super::sinks::EntryCollector;
use super::{lookup, scan, value_words, write};
use crate::key_value::Key;
use crate::node::{Layout, WriteMode};
use crate::value::Value;
use crate::write_outcome::WriteOutcome;
use xtasking::{Context, task::Spawner};

/// An operation that takes a state along and hands it to its continuation.
///
/// A state that owns a handle of the tree cannot be moved into the continuation of an operation
/// that borrows this handle. Pass it to [`with_state`] instead:
///
/// ```
/// use xtasking::{Context, Runtime};
/// use xtasking_index::{Tree, with_state};
///
/// struct Sum { tree: Tree<u64, u64>, next: u64, sum: u64 }
///
/// impl AsRef<Tree<u64, u64>> for Sum {
///     fn as_ref(&self) -> &Tree<u64, u64> { &self.tree }
/// }
///
/// fn step(sum: Sum, cx: &mut Context) {
///     let key = sum.next;
///     with_state(sum).get(cx, key, |mut sum, value, cx| {
///         sum.sum += value.unwrap_or(0);
///         sum.next += 1;
///         if sum.next < 10 { step(sum, cx) }
///     });
/// }
///
/// let rt = Runtime::builder().workers(1).build()?;
/// let tree = Tree::new(&rt);
/// rt.task(()).spawn(move |(), cx| step(Sum { tree, next: 0, sum: 0 }, cx));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the state is carried by an operation"]
pub struct WithState<T>(T);

/// Passes `state` along with the next operation on the tree that it refers to.
pub fn with_state<T: Send + 'static>(state: T) -> WithState<T> {
    WithState(state)
}

impl<T: Send + 'static> WithState<T> {
    /// Like [`Tree::get`].
    #[inline]
    pub fn get<K: Key, V: Value, L: Layout<Keys = K::Keys>, S: Spawner, F>(
        self,
        at: S,
        key: K::Arg<'_>,
        then: F,
    ) where
        T: AsRef<Tree<K, V, L>>,
        F: FnOnce(T, Option<V>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        let then = move |value: Option<u64>, cx: &mut Context| {
            then(state, value.map(|word| value_words::copy(word, cx)), cx);
        };
        lookup::begin(at, root, K::carry(key), then);
    }

    /// Like [`Tree::write`].
    #[inline]
    pub fn write<K: Key, V: Value, L: Layout<Keys = K::Keys>, S: Spawner, F>(
        self,
        at: S,
        key: K::Arg<'_>,
        value: V,
        mode: WriteMode,
        then: F,
    ) where
        T: AsRef<Tree<K, V, L>>,
        F: FnOnce(T, WriteOutcome<V>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        let change = write::PutEntry::new(value, mode);
        write::begin(at, root, K::carry(key), change, move |wrote: WriteOutcome<u64>, cx: &mut Context| {
            then(state, value_words::outcome(wrote, cx), cx);
        });
    }

    /// Like [`Tree::remove`].
    pub fn remove<K: Key, V: Value, L: Layout<Keys = K::Keys>, S: Spawner, F>(
        self,
        at: S,
        key: K::Arg<'_>,
        then: F,
    ) where
        T: AsRef<Tree<K, V, L>>,
        F: FnOnce(T, Option<V>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        write::begin(
            at,
            root,
            K::carry(key),
            write::RemoveEntry,
            move |old: Option<u64>, cx: &mut Context| {
                then(state, old.map(|word| value_words::take(word, cx)), cx);
            },
        );
    }

    /// Like [`Tree::scan`].
    pub fn scan<K: Key, V: Value, L: Layout<Keys = K::Keys>, S: Spawner, F>(
        self,
        at: S,
        from: K::Arg<'_>,
        limit: usize,
        then: F,
    ) where
        T: AsRef<Tree<K, V, L>>,
        F: FnOnce(T, Vec<(K, V)>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        let (range, sink) = (KeyRange::of::<K>(&(from..)), EntryCollector::<K, V>::new(limit));
        scan::begin::<Ascending, _, _, _, _>(at, root, range, sink, move |entries, cx: &mut Context| {
            then(state, entries, cx);
        });
    }
}
