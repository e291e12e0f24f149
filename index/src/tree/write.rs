//! Changes one entry. Readers descend to the parent of the leaf; there the task becomes a
//! writer of the leaf (MxTasks, SIGMOD'21, section 5).

use super::links::{decode_link, mark};
use super::merge;
use super::root::{Continuation, Operation, RootRef};
use super::split::split;
use super::write_outcome::WriteOutcome;
use crate::node::{self, DescendResult, Layout, ModifyResult, RemoveResult, WriteMode};
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
    fn apply<L: Layout>(&mut self, leaf: &L, key: u64, token: &WriteToken<'_>) -> ApplyResult<Self::Result>;
}

/// The result of applying a change.
pub(super) enum ApplyResult<R> {
    Done(R),
    /// Done, and the leaf has no entries left.
    Emptied(R),
    /// The key belongs to the node with this link.
    Elsewhere(u64),
    /// The leaf must be split first.
    Full,
}

/// Adds an entry or replaces its value.
pub(super) struct PutEntry {
    pub value: u64,
    pub mode: WriteMode,
}

impl EntryChange for PutEntry {
    type Result = WriteOutcome<u64>;

    #[inline(always)]
    fn apply<L: Layout>(
        &mut self,
        leaf: &L,
        key: u64,
        token: &WriteToken<'_>,
    ) -> ApplyResult<WriteOutcome<u64>> {
        ApplyResult::Done(match leaf.write(key, self.value, self.mode, token) {
            node::WriteResult::Inserted => WriteOutcome::Inserted,
            node::WriteResult::Replaced(old) => WriteOutcome::Replaced(old),
            node::WriteResult::Exists(value) => WriteOutcome::Exists(value),
            node::WriteResult::Missing => WriteOutcome::Missing,
            node::WriteResult::Right(link) => return ApplyResult::Elsewhere(link),
            node::WriteResult::Full => return ApplyResult::Full,
        })
    }
}

/// Changes a value in place. The closure is called once.
pub(super) struct ModifyEntry<C>(pub Option<C>);

impl<C: FnOnce(u64) -> u64 + Send + 'static> EntryChange for ModifyEntry<C> {
    type Result = Option<u64>;

    fn apply<L: Layout>(&mut self, leaf: &L, key: u64, token: &WriteToken<'_>) -> ApplyResult<Option<u64>> {
        // The closure is called only for an existing entry, which ends the operation.
        let change = &mut self.0;
        match leaf.modify(key, |value| change.take().map_or(value, |change| change(value)), token) {
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

    fn apply<L: Layout>(&mut self, leaf: &L, key: u64, token: &WriteToken<'_>) -> ApplyResult<Option<u64>> {
        match leaf.remove(key, token) {
            RemoveResult::Done { value, empty: false } => ApplyResult::Done(Some(value)),
            RemoveResult::Done { value, empty: true } => ApplyResult::Emptied(Some(value)),
            RemoveResult::Missing => ApplyResult::Done(None),
            RemoveResult::Right(link) => ApplyResult::Elsewhere(link),
        }
    }
}

/// Starts a change.
#[inline(always)]
pub(super) fn begin<S: Spawner, L: Layout, E: EntryChange, F: Continuation<E::Result>>(
    at: S,
    root: RootRef<L>,
    key: u64,
    change: E,
    then: F,
) {
    root.begin(at, WriteOperation { root, key, change, then });
}

struct WriteOperation<L: Layout, E, F> {
    root: RootRef<L>,
    key: u64,
    change: E,
    then: F,
}

impl<L: Layout, E: EntryChange, F: Continuation<E::Result>> Operation<L> for WriteOperation<L, E, F> {
    #[inline(always)]
    fn start<S: Spawner>(self, at: S, top: Link<L>) {
        if top.mark() == mark::LEAF {
            at.task(top.write().part(L::FIRST)).begin_operation().modify(self);
        } else {
            at.task(top.read().part(L::FIRST)).begin_operation().visit(self);
        }
    }
}

impl<L: Layout, E: EntryChange, F: Continuation<E::Result>> Visit for WriteOperation<L, E, F> {
    type Target = L;
    type Output = Link<L>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.key)
    }

    #[inline(always)]
    fn read(&self, _: Link<L>, node: &L) -> Step<L, Link<L>> {
        let (DescendResult::Child(word) | DescendResult::Right(word)) = node.descend(self.key);
        match decode_link::<L>(word) {
            Some(leaf) if leaf.mark() == mark::LEAF => Step::End(leaf),
            Some(next) => Step::Go(next, L::FIRST),
            None => Step::Again,
        }
    }

    #[inline(always)]
    fn then(self, leaf: Link<L>, cx: &mut Context) {
        cx.task(leaf.write().part(L::FIRST)).modify(self);
    }
}

impl<L: Layout, E: EntryChange, F: Continuation<E::Result>> Modify for WriteOperation<L, E, F> {
    type Target = L;
    type Output = ApplyResult<E::Result>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, _: Link<L>, leaf: &L) -> Part {
        leaf.locate(self.key)
    }

    #[inline(always)]
    fn write(&mut self, at: Link<L>, leaf: Written<'_, L>, cx: &mut Context) -> ApplyResult<E::Result> {
        match self.change.apply(&*leaf, self.key, leaf.token()) {
            ApplyResult::Full => {
                let (root, key, change) = (self.root, self.key, &mut self.change);
                split(root, at, &leaf, key, cx, |half, token| change.apply(half, key, token))
            }
            done => done,
        }
    }

    #[inline(always)]
    fn then(self, applied: ApplyResult<E::Result>, cx: &mut Context) {
        match applied {
            ApplyResult::Done(result) => (self.then)(result, cx),
            ApplyResult::Emptied(result) => {
                merge::begin(self.root, 1, self.key, cx);
                (self.then)(result, cx);
            }
            ApplyResult::Elsewhere(word) => {
                if let Some(next) = decode_link::<L>(word) {
                    cx.task(next.write().part(L::FIRST)).modify(self);
                }
            }
            ApplyResult::Full => unreachable!("half of a split node has room"),
        }
    }
}
