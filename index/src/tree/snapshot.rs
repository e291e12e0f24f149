//! Reading a range at one moment, by a task that holds its leaves.
//!
//! The operation first walks over the leaves of the range and notes their links. A task then holds
//! all of them for reading at once, so that no writer is in any of them. It checks that they still
//! are the leaves of the range:
//!
//! - none is dead,
//! - the first one covers the first key of the range, and the last one its last key,
//! - the right link of each one leads to the next.
//!
//! Then every entry of the range is in one of them, because each key has one living leaf, and the
//! chain leaves no key out. While they are held, no entry of the range can change. So the
//! linearization point is any moment at which the task holds them. If the check fails, a leaf was
//! split or merged meanwhile, and the operation begins again. Each failure is another operation's
//! progress.
//!
//! Leaves are held by a task that names a list of objects, so this works with any primitive, and
//! cannot deadlock with merges. The list is bounded by [`MAX_LEAVES`], since the writers of all of
//! them wait meanwhile.

use super::handle::Tree;
use super::key_range::KeyRange;
use super::links::{decode_link, mark, step_to_link};
use super::order::{Ascending, Order, Rest};
use super::range::decode;
use super::root::{Root, RootRef};
use crate::key_space::KeySpace;
use crate::key_value::Key;
use crate::node::{DescendResult, Layout};
use crate::root::{Continuation, Epoch, Operation};
use crate::value::Value;
use core::fmt;
use core::marker::PhantomData;
use core::ops::RangeBounds;
use xtasking::{
    Context, JoinError, Part,
    arena::{Link, Step, Visit},
    task::Spawner,
};

/// The most leaves that are held at once.
const MAX_LEAVES: usize = 1024;

/// Why a range was not read at one moment.
#[derive(Debug)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The range is in more leaves than a task holds at once. For a [`Client`](crate::Client) of a
    /// tree with an optimistic primitive, this means that writers also changed the leaves during
    /// each of its own attempts to read them.
    TooManyLeaves,
    /// A read failed; see [`Client`](crate::Client).
    Failed(JoinError),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyLeaves => {
                write!(f, "the range is in more leaves than a task holds at once ({MAX_LEAVES})")
            }
            Self::Failed(error) => write!(f, "a read of the range failed: {error}"),
        }
    }
}

impl core::error::Error for SnapshotError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::TooManyLeaves => None,
            Self::Failed(error) => Some(error),
        }
    }
}

impl From<JoinError> for SnapshotError {
    fn from(error: JoinError) -> Self {
        Self::Failed(error)
    }
}

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    /// Collects the entries of a range of keys as they are at one moment, in order. The moment is
    /// between the start of the operation and its end.
    ///
    /// The continuation gets [`TooManyLeaves`](SnapshotError::TooManyLeaves) if the range is in
    /// more than 1024 leaves. With default nodes, 20,000 entries always fit if none of their leaves
    /// is sparse.
    ///
    /// Writers of these leaves wait while a task copies the entries; it waits for the writers
    /// before it. Readers are not held up, where the primitive lets them run beside writers.
    pub fn snapshot<'k, S, F>(&self, at: S, range: impl RangeBounds<K::Arg<'k>>, then: F)
    where
        S: Spawner,
        F: FnOnce(Result<Vec<(K, V)>, SnapshotError>, &mut Context) + Send + 'static,
    {
        self.snapshot_words(at, KeyRange::of::<K>(&range), then);
    }

    pub(crate) fn snapshot_words<S, F>(&self, at: S, range: KeyRange<K::Keys>, then: F)
    where
        S: Spawner,
        F: FnOnce(Result<Vec<(K, V)>, SnapshotError>, &mut Context) + Send + 'static,
    {
        let (root, leaves) = (self.root(), Vec::new());
        let types = PhantomData::<fn() -> (K, V)>;
        root.begin(at, SnapshotOperation { root, unvisited: range.clone(), range, leaves, then, types });
    }
}

struct SnapshotOperation<K: Key, V, L: Layout, F> {
    root: RootRef<L>,
    range: KeyRange<K::Keys>,
    /// The part of the range whose leaves are not known yet.
    unvisited: KeyRange<K::Keys>,
    leaves: Vec<Link<L>>,
    then: F,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V, L, F> Operation<Root<L>> for SnapshotOperation<K, V, L, F>
where
    K: Key,
    V: Value,
    L: Layout<Keys = K::Keys>,
    F: Continuation<Result<Vec<(K, V)>, SnapshotError>>,
{
    fn start<S: Spawner>(self, at: S, root: &Root<L>, epoch: Epoch) {
        let top = root.link.get();
        epoch.annotate(at.task(top.read().part(L::FIRST))).visit(self);
    }
}

impl<K, V, L, F> Visit for SnapshotOperation<K, V, L, F>
where
    K: Key,
    V: Value,
    L: Layout<Keys = K::Keys>,
    F: Continuation<Result<Vec<(K, V)>, SnapshotError>>,
{
    type Target = L;
    /// A leaf of the range, and what it does not cover.
    type Output = (Link<L>, Option<Rest<K::Keys>>);

    const LOCATES: bool = true;

    fn locate(&self, at: Link<L>, node: &L) -> Part {
        // The task that holds the leaf will read all of it.
        if at.mark() == mark::LEAF { L::ALL } else { node.locate(self.unvisited.first()) }
    }

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Self::Output> {
        if at.mark() != mark::LEAF {
            let (DescendResult::Child(word) | DescendResult::Right(word)) =
                node.descend(self.unvisited.first());
            return step_to_link(word);
        }
        let high = node.high();
        if node.is_dead() || high.as_ref().is_some_and(|high| self.unvisited.begins_from(high)) {
            return step_to_link(node.right());
        }
        let rest = high.and_then(|high| self.unvisited.from(high));
        Step::End((at, rest.map(|range| Rest { range, link: node.right() })))
    }

    fn then(mut self, (leaf, rest): Self::Output, cx: &mut Context) {
        self.leaves.push(leaf);
        let Some(Rest { range, link }) = rest else { return self.hold(cx) };
        match decode_link::<L>(link) {
            Some(next) if self.leaves.len() < MAX_LEAVES => {
                self.unvisited = range;
                cx.task(next.read().part(L::FIRST)).visit(self);
            }
            _ => (self.then)(Err(SnapshotError::TooManyLeaves), cx),
        }
    }
}

impl<K, V, L, F> SnapshotOperation<K, V, L, F>
where
    K: Key,
    V: Value,
    L: Layout<Keys = K::Keys>,
    F: Continuation<Result<Vec<(K, V)>, SnapshotError>>,
{
    /// Spawns the task that holds the leaves.
    fn hold(self, cx: &mut Context) {
        let leaves: Vec<_> = self.leaves.iter().map(|leaf| leaf.read().part(L::ALL)).collect();
        cx.task(leaves).spawn(move |nodes: Vec<&L>, cx| {
            match read_held(&nodes, &self.leaves, &self.range, cx) {
                Some(entries) => (self.then)(Ok(entries), cx),
                None => self.begin_again(cx),
            }
        });
    }

    fn begin_again(mut self, cx: &mut Context) {
        self.leaves.clear();
        self.unvisited = self.range.clone();
        let top = self.root.get(cx).link.get();
        cx.task(top.read().part(L::FIRST)).visit(self);
    }
}

/// Returns the entries of a range from its leaves, which are held. Returns `None` if they are not
/// its leaves any more.
fn read_held<K: Key, V: Value, L: Layout<Keys = K::Keys>>(
    nodes: &[&L],
    links: &[Link<L>],
    range: &KeyRange<K::Keys>,
    cx: &Context,
) -> Option<Vec<(K, V)>> {
    let mut entries = Vec::new();
    let mut left = Some(range.clone());
    for (at, node) in nodes.iter().enumerate() {
        let here = left?;
        if node.is_dead() || !here.begins_from(&node.low()) {
            return None;
        }
        let rest = Ascending::read_leaf(*node, &here, |key, value| {
            entries.push(decode((K::Keys::to_owned(key), value), cx));
        });
        if let (Some(rest), Some(&next)) = (&rest, links.get(at + 1))
            && !decode_link::<L>(rest.link)?.is_same_node(next)
        {
            return None;
        }
        left = rest.map(|rest| rest.range);
    }
    left.is_none().then_some(entries)
}
