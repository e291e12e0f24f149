//! Operations that carry the caller's state.

use super::handle::Tree;
use super::write_outcome::WriteOutcome;
use super::{lookup, scan, write};
use crate::key_value::{Key, Value};
use crate::node::{Layout, WriteMode};
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
    pub fn get<K: Key, V: Value, L: Layout, S: Spawner, F>(self, at: S, key: K, then: F)
    where
        T: AsRef<Tree<K, V, L>>,
        F: FnOnce(T, Option<V>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        let then = move |value: Option<u64>, cx: &mut Context| then(state, value.map(V::from_word), cx);
        lookup::begin(at, root, key.to_word(), then);
    }

    /// Like [`Tree::write`].
    #[inline]
    pub fn write<K: Key, V: Value, L: Layout, S: Spawner, F>(
        self,
        at: S,
        key: K,
        value: V,
        mode: WriteMode,
        then: F,
    ) where
        T: AsRef<Tree<K, V, L>>,
        F: FnOnce(T, WriteOutcome<V>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        let change = write::PutEntry { value: value.to_word(), mode };
        write::begin(at, root, key.to_word(), change, move |wrote: WriteOutcome<u64>, cx: &mut Context| {
            then(state, WriteOutcome::from_words(wrote), cx);
        });
    }

    /// Like [`Tree::remove`].
    pub fn remove<K: Key, V: Value, L: Layout, S: Spawner, F>(self, at: S, key: K, then: F)
    where
        T: AsRef<Tree<K, V, L>>,
        F: FnOnce(T, Option<V>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        write::begin(
            at,
            root,
            key.to_word(),
            write::RemoveEntry,
            move |old: Option<u64>, cx: &mut Context| {
                then(state, old.map(V::from_word), cx);
            },
        );
    }

    /// Like [`Tree::scan`].
    pub fn scan<K: Key, V: Value, L: Layout, S: Spawner, F>(self, at: S, from: K, limit: usize, then: F)
    where
        T: AsRef<Tree<K, V, L>>,
        F: FnOnce(T, Vec<(K, V)>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        scan::begin(
            at,
            root,
            from.to_word(),
            scan::EntryCollector::new(limit),
            move |entries, cx: &mut Context| {
                then(state, entries, cx);
            },
        );
    }
}
