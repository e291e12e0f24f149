//! Operations that carry the state they are part of.

use super::{Tree, Wrote, lookup, scan, write};
use crate::fixed::{Key, Value};
use crate::node::{Layout, Write};
use xtasking::{Context, Spawner};

/// A state that travels with an operation and comes back with its result.
///
/// A state that owns a handle of the tree cannot be moved into the continuation of an operation that borrows this
/// handle; it is given to [`carry`] instead:
///
/// ```
/// use xtasking::{Context, Runtime};
/// use xtasking_index::{Tree, carry};
///
/// struct Sum { tree: Tree<u64, u64>, next: u64, sum: u64 }
///
/// impl AsRef<Tree<u64, u64>> for Sum {
///     fn as_ref(&self) -> &Tree<u64, u64> { &self.tree }
/// }
///
/// fn step(sum: Sum, cx: &mut Context) {
///     let key = sum.next;
///     carry(sum).get(cx, key, |mut sum, value, cx| {
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
pub struct Carry<T>(T);

/// Carries `state` along the next operation on the tree that it refers to.
pub fn carry<T: Send + 'static>(state: T) -> Carry<T> {
    Carry(state)
}

impl<T: Send + 'static> Carry<T> {
    /// [`Tree::get`], with the state.
    #[inline]
    pub fn get<K, V, L, S, F>(self, at: S, key: K, then: F)
    where
        K: Key,
        V: Value,
        L: Layout,
        T: AsRef<Tree<K, V, L>>,
        S: Spawner,
        F: FnOnce(T, Option<V>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        let then = move |value: Option<u64>, cx: &mut Context| then(state, value.map(V::from_word), cx);
        lookup::begin(at, root, key.to_word(), then);
    }

    /// [`Tree::write`], with the state.
    #[inline]
    pub fn write<K, V, L, S, F>(self, at: S, key: K, value: V, how: Write, then: F)
    where
        K: Key,
        V: Value,
        L: Layout,
        T: AsRef<Tree<K, V, L>>,
        S: Spawner,
        F: FnOnce(T, Wrote<V>, &mut Context) + Send + 'static,
    {
        let tree = self.0.as_ref();
        let (root, state) = (tree.root(), self.0);
        let change = write::Put { value: value.to_word(), how };
        write::begin(at, root, key.to_word(), change, move |wrote: Wrote<u64>, cx: &mut Context| {
            then(state, Wrote::of_word(wrote), cx);
        });
    }

    /// [`Tree::remove`], with the state.
    pub fn remove<K, V, L, S, F>(self, at: S, key: K, then: F)
    where
        K: Key,
        V: Value,
        L: Layout,
        T: AsRef<Tree<K, V, L>>,
        S: Spawner,
        F: FnOnce(T, Option<V>, &mut Context) + Send + 'static,
    {
        let tree = self.0.as_ref();
        let (root, state) = (tree.root(), self.0);
        write::begin(at, root, key.to_word(), write::Remove, move |old: Option<u64>, cx: &mut Context| {
            then(state, old.map(V::from_word), cx);
        });
    }

    /// [`Tree::scan`], with the state.
    pub fn scan<K, V, L, S, F>(self, at: S, from: K, limit: usize, then: F)
    where
        K: Key,
        V: Value,
        L: Layout,
        T: AsRef<Tree<K, V, L>>,
        S: Spawner,
        F: FnOnce(T, Vec<(K, V)>, &mut Context) + Send + 'static,
    {
        let (root, state) = (self.0.as_ref().root(), self.0);
        scan::begin(at, root, from.to_word(), scan::Collect::new(limit), move |entries, cx: &mut Context| {
            then(state, entries, cx);
        });
    }
}
