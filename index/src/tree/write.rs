//! Changes one entry. Readers descend to the parent of the leaf; there the task becomes a
//! writer of the leaf (MxTasks, SIGMOD'21, section 5).

use super::links::{decode_link, mark};
use super::merge;
use super::root::{Root, RootRef, drop_replaced};
use super::split::split;
use super::value_words;
use crate::key_space::{EncodedKey, KeySpace};
use crate::node::{self, DescendResult, KeyRef, Layout, ModifyResult, RemoveResult, WriteMode};
use crate::root::{Continuation, Epoch, Operation};
use crate::value::{Value, ValueForm};
use crate::write_outcome::WriteOutcome;
use core::marker::PhantomData;
use xtasking::{
    Context, Part,
    arena::{Link, Modify, Step, Visit, WriteToken, Written},
    task::Spawner,
};

/// A change of one entry of a leaf.
pub(super) trait EntryChange: Send + 'static {
    /// What the operation's continuation gets.
    type Result: 'static;

    /// Changes the leaf, or returns why it cannot be changed.
    fn apply<L: Layout>(&mut self, leaf: &L, key: KeyRef<'_, L>, token: &WriteToken<'_>) -> ResultOf<Self>;
}

/// The result of applying a change `E`.
pub(super) type ResultOf<E> = ApplyResult<<E as EntryChange>::Result>;

/// The result of applying a change.
pub(super) enum ApplyResult<R> {
    Done(R),
    /// Done, and the leaf should be merged with a neighbour.
    Sparse(R),
    /// The key belongs to the node with this link.
    Elsewhere(u64),
    /// The leaf must be split first.
    Full,
}

impl<R> ApplyResult<R> {
    /// Converts the result of a change that was made.
    #[inline(always)]
    pub fn map<S>(self, convert: impl FnOnce(R) -> S) -> ApplyResult<S> {
        match self {
            Self::Done(result) => ApplyResult::Done(convert(result)),
            Self::Sparse(result) => ApplyResult::Sparse(convert(result)),
            Self::Elsewhere(link) => ApplyResult::Elsewhere(link),
            Self::Full => ApplyResult::Full,
        }
    }
}

/// Adds an entry or replaces its value.
pub(super) struct PutEntry<V: Value> {
    word: u64,
    mode: WriteMode,
    /// A leaf has the word, and so owns the value.
    is_placed: bool,
    value: PhantomData<V>,
}

impl<V: Value> PutEntry<V> {
    #[inline(always)]
    pub fn new(value: V, mode: WriteMode) -> Self {
        Self { word: V::Form::into_word(value), mode, is_placed: false, value: PhantomData }
    }
}

impl<V: Value> Drop for PutEntry<V> {
    #[inline(always)]
    fn drop(&mut self) {
        if V::Form::IS_OWNER && !self.is_placed {
            // SAFETY: the word was made in `new`, and no leaf has it.
            unsafe { value_words::drop_at_once::<V>(self.word) };
        }
    }
}

impl<V: Value> EntryChange for PutEntry<V> {
    type Result = WriteOutcome<u64>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn apply<L: Layout>(&mut self, leaf: &L, key: KeyRef<'_, L>, token: &WriteToken<'_>) -> ResultOf<Self> {
        ApplyResult::Done(match leaf.write(key, self.word, self.mode, token) {
            node::WriteResult::Inserted => {
                self.is_placed = true;
                WriteOutcome::Inserted
            }
            node::WriteResult::Replaced(old) => {
                self.is_placed = true;
                WriteOutcome::Replaced(old)
            }
            node::WriteResult::Exists(value) => WriteOutcome::Exists(value),
            node::WriteResult::Missing => WriteOutcome::Missing,
            node::WriteResult::Right(link) => return ApplyResult::Elsewhere(link),
            node::WriteResult::Full => return ApplyResult::Full,
        })
    }
}

/// Replaces a value by what a closure makes of it. The closure is called once.
pub(super) struct ModifyEntry<V, C> {
    change: Option<C>,
    value: PhantomData<fn(V) -> V>,
}

impl<V, C> ModifyEntry<V, C> {
    pub fn new(change: C) -> Self {
        Self { change: Some(change), value: PhantomData }
    }
}

impl<V: Value, C: FnOnce(V) -> V + Send + 'static> EntryChange for ModifyEntry<V, C> {
    type Result = Option<u64>;

    fn apply<L: Layout>(&mut self, leaf: &L, key: KeyRef<'_, L>, token: &WriteToken<'_>) -> ResultOf<Self> {
        // The closure is called only for an existing entry, which ends the operation.
        let change = |word| match self.change.take() {
            Some(change) => V::Form::into_word(change(value_words::copy(word, token))),
            None => word,
        };
        match leaf.modify(key, change, token) {
            ModifyResult::Done { old, .. } => ApplyResult::Done(Some(old)),
            ModifyResult::Missing => ApplyResult::Done(None),
            ModifyResult::Right(link) => ApplyResult::Elsewhere(link),
        }
    }
}

/// Removes the entry.
pub(super) struct RemoveEntry;

impl EntryChange for RemoveEntry {
    type Result = Option<u64>;

    fn apply<L: Layout>(&mut self, leaf: &L, key: KeyRef<'_, L>, token: &WriteToken<'_>) -> ResultOf<Self> {
        match leaf.remove(key, token) {
            RemoveResult::Done { value, sparse: false } => ApplyResult::Done(Some(value)),
            RemoveResult::Done { value, sparse: true } => ApplyResult::Sparse(Some(value)),
            RemoveResult::Missing => ApplyResult::Done(None),
            RemoveResult::Right(link) => ApplyResult::Elsewhere(link),
        }
    }
}

/// Applies a change to a leaf that is held for writing, after splitting it if it is full. If the
/// half is full again, the change belongs to that half.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn apply_or_split<L: Layout, E: EntryChange>(
    change: &mut E,
    root: RootRef<L>,
    at: Link<L>,
    leaf: &Written<'_, L>,
    key: KeyRef<'_, L>,
    cx: &mut Context,
) -> ApplyResult<E::Result> {
    let applied = match change.apply(&**leaf, key, leaf.token()) {
        ApplyResult::Full => {
            match split(root, at, leaf, key, cx, |half, token| change.apply(half, key, token)) {
                (ApplyResult::Full, half) => ApplyResult::Elsewhere(half.to_word()),
                (done, _) => done,
            }
        }
        done => done,
    };
    drop_replaced(leaf, cx);
    applied
}

/// Starts a change.
#[inline(always)]
pub(super) fn begin<S, L, Q, E, F>(at: S, root: RootRef<L>, key: Q, change: E, then: F)
where
    S: Spawner,
    L: Layout,
    Q: EncodedKey<L::Keys> + 'static,
    E: EntryChange,
    F: Continuation<E::Result>,
{
    root.begin(at, WriteOperation { root, key, change, then });
}

struct WriteOperation<L: Layout, Q, E, F> {
    root: RootRef<L>,
    key: Q,
    change: E,
    then: F,
}

impl<L: Layout, Q: EncodedKey<L::Keys> + 'static, E: EntryChange, F: Continuation<E::Result>>
    Operation<Root<L>> for WriteOperation<L, Q, E, F>
{
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn start<S: Spawner>(self, at: S, root: &Root<L>, epoch: Epoch) {
        let top = root.link.get();
        if top.mark() == mark::LEAF {
            epoch.annotate(at.task(top.write().part(L::FIRST))).modify(self);
        } else {
            epoch.annotate(at.task(top.read().part(L::FIRST))).visit(self);
        }
    }
}

impl<L: Layout, Q: EncodedKey<L::Keys> + 'static, E: EntryChange, F: Continuation<E::Result>> Visit
    for WriteOperation<L, Q, E, F>
{
    type Target = L;
    type Output = Link<L>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.key.key())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&self, _: Link<L>, node: &L) -> Step<L, Link<L>> {
        let (DescendResult::Child(word) | DescendResult::Right(word)) = node.descend(self.key.key());
        match decode_link::<L>(word) {
            Some(leaf) if leaf.mark() == mark::LEAF => Step::End(leaf),
            Some(next) => Step::Go(next, L::FIRST),
            None => Step::Again,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn then(self, leaf: Link<L>, cx: &mut Context) {
        cx.task(leaf.write().part(L::FIRST)).modify(self);
    }
}

impl<L: Layout, Q: EncodedKey<L::Keys> + 'static, E: EntryChange, F: Continuation<E::Result>> Modify
    for WriteOperation<L, Q, E, F>
{
    type Target = L;
    type Output = ApplyResult<E::Result>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, _: Link<L>, leaf: &L) -> Part {
        leaf.locate(self.key.key())
    }

    #[inline(always)]
    fn write(&mut self, at: Link<L>, leaf: Written<'_, L>, cx: &mut Context) -> ApplyResult<E::Result> {
        apply_or_split(&mut self.change, self.root, at, &leaf, self.key.key(), cx)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn then(self, applied: ApplyResult<E::Result>, cx: &mut Context) {
        match applied {
            ApplyResult::Done(result) => (self.then)(result, cx),
            ApplyResult::Sparse(result) => {
                merge::begin(self.root, 1, L::Keys::to_owned(self.key.key()), cx);
                (self.then)(result, cx);
            }
            ApplyResult::Elsewhere(word) => {
                if let Some(next) = decode_link::<L>(word) {
                    cx.task(next.write().part(L::FIRST)).modify(self);
                }
            }
            ApplyResult::Full => unreachable!("a full leaf is split"),
        }
    }
}
