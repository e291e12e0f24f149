//! Changing one entry: readers down to the branch, whose child is a leaf; there the task becomes a writer (MxTasks,
//! section 5).

use super::{RootRef, Wrote, future_link, link_of, mark, marked, merge, separate};
use crate::node::{self, Down, Layout, Modified, Removed, Write};
use xtasking::{Context, Link, Modify, Part, Spawner, Step, Visit, WriteToken, Written};

/// What is done to an entry of a leaf.
pub(super) trait EntryChange: Send + 'static {
    /// What the operation's continuation gets.
    type Result: 'static;

    /// Changes a leaf, or says what stands in the way.
    fn apply<L: Layout>(&mut self, leaf: &L, key: u64, token: &WriteToken<'_>) -> Applied<Self::Result>;
}

/// What came of a change.
pub(super) enum Applied<R> {
    Done(R),
    /// Done, and it was the leaf's last entry.
    Emptied(R),
    /// The key belongs elsewhere, at this link.
    Elsewhere(u64),
    /// The leaf has to be split first.
    Full,
}

/// Adds or replaces.
pub(super) struct Put {
    pub value: u64,
    pub how: Write,
}

impl EntryChange for Put {
    type Result = Wrote<u64>;

    #[inline(always)]
    fn apply<L: Layout>(&mut self, leaf: &L, key: u64, token: &WriteToken<'_>) -> Applied<Wrote<u64>> {
        Applied::Done(match leaf.write(key, self.value, self.how, token) {
            node::Wrote::Inserted => Wrote::Inserted,
            node::Wrote::Replaced(old) => Wrote::Replaced(old),
            node::Wrote::Exists(value) => Wrote::Exists(value),
            node::Wrote::Missing => Wrote::Missing,
            node::Wrote::Right(link) => return Applied::Elsewhere(link),
            node::Wrote::Full => return Applied::Full,
        })
    }
}

/// Changes the value in place; the closure is used once.
pub(super) struct Change<C>(pub Option<C>);

impl<C: FnOnce(u64) -> u64 + Send + 'static> EntryChange for Change<C> {
    type Result = Option<u64>;

    fn apply<L: Layout>(&mut self, leaf: &L, key: u64, token: &WriteToken<'_>) -> Applied<Option<u64>> {
        // The closure is called only for an entry that is there, which ends the operation.
        let change = &mut self.0;
        match leaf.modify(key, |value| change.take().map_or(value, |change| change(value)), token) {
            Modified::Done { old, .. } => Applied::Done(Some(old)),
            Modified::Missing => Applied::Done(None),
            Modified::Right(link) => Applied::Elsewhere(link),
        }
    }
}

/// Takes the entry out.
pub(super) struct Remove;

impl EntryChange for Remove {
    type Result = Option<u64>;

    fn apply<L: Layout>(&mut self, leaf: &L, key: u64, token: &WriteToken<'_>) -> Applied<Option<u64>> {
        match leaf.remove(key, token) {
            Removed::Done { value, empty: false } => Applied::Done(Some(value)),
            Removed::Done { value, empty: true } => Applied::Emptied(Some(value)),
            Removed::Missing => Applied::Done(None),
            Removed::Right(link) => Applied::Elsewhere(link),
        }
    }
}

/// Begins a change.
#[inline(always)]
pub(super) fn begin<S, L, E, F>(at: S, root: RootRef<L>, key: u64, change: E, then: F)
where
    S: Spawner,
    L: Layout,
    E: EntryChange,
    F: FnOnce(E::Result, &mut Context) + Send + 'static,
{
    if S::IN_TASK {
        let top = root.top(&at);
        start(at, root, top, key, change, then);
    } else {
        at.task(()).spawn(move |(), cx| {
            let top = root.top(&cx);
            start(cx, root, top, key, change, then);
        });
    }
}

/// Begins a change at the topmost node.
#[inline(always)]
fn start<S, L, E, F>(at: S, root: RootRef<L>, top: Link<L>, key: u64, change: E, then: F)
where
    S: Spawner,
    L: Layout,
    E: EntryChange,
    F: FnOnce(E::Result, &mut Context) + Send + 'static,
{
    let operation = Changing { root, key, change, then };
    if top.mark() == mark::LEAF {
        at.task(top.write().part(L::FIRST)).begin_operation().modify(operation);
    } else {
        at.task(top.read().part(L::FIRST)).begin_operation().visit(operation);
    }
}

struct Changing<L: Layout, E, F> {
    root: RootRef<L>,
    key: u64,
    change: E,
    then: F,
}

impl<L, E, F> Visit for Changing<L, E, F>
where
    L: Layout,
    E: EntryChange,
    F: FnOnce(E::Result, &mut Context) + Send + 'static,
{
    type Target = L;
    type Output = Link<L>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.key)
    }

    #[inline(always)]
    fn read(&self, _: Link<L>, node: &L) -> Step<L, Link<L>> {
        let (Down::Child(word) | Down::Right(word)) = node.descend(self.key);
        match link_of::<L>(word) {
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

impl<L, E, F> Modify for Changing<L, E, F>
where
    L: Layout,
    E: EntryChange,
    F: FnOnce(E::Result, &mut Context) + Send + 'static,
{
    type Target = L;
    type Output = Applied<E::Result>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, _: Link<L>, leaf: &L) -> Part {
        leaf.locate(self.key)
    }

    #[inline(always)]
    fn write(&mut self, at: Link<L>, leaf: Written<'_, L>, cx: &mut Context) -> Applied<E::Result> {
        match self.change.apply(&*leaf, self.key, leaf.token()) {
            Applied::Full => {
                let (root, key, change) = (self.root, self.key, &mut self.change);
                split(root, at, &leaf, key, cx, |half, token| change.apply(half, key, token))
            }
            done => done,
        }
    }

    #[inline(always)]
    fn then(self, applied: Applied<E::Result>, cx: &mut Context) {
        match applied {
            Applied::Done(result) => (self.then)(result, cx),
            Applied::Emptied(result) => {
                merge::begin(self.root, 1, self.key, cx);
                (self.then)(result, cx);
            }
            Applied::Elsewhere(word) => {
                if let Some(next) = link_of::<L>(word) {
                    cx.task(next.write().part(L::FIRST)).modify(self);
                }
            }
            Applied::Full => unreachable!("half of a split node has room"),
        }
    }
}

/// Splits a full node that is held for writing, applies the change to the half that covers `key`, and tells the level
/// above.
#[cold]
#[inline(never)]
pub(super) fn split<L: Layout, R>(
    root: RootRef<L>,
    at: Link<L>,
    node: &Written<'_, L>,
    key: u64,
    cx: &mut Context,
    apply: impl FnOnce(&L, &WriteToken<'_>) -> R,
) -> R {
    let shared = root.get(cx);
    let level = node.level();
    let place = shared.arena.reserve(cx);
    let top = shared.link.get();
    let replaces_top = top.is_same_node(at);
    let top_level = if replaces_top { level + 1 } else { top.mark().into() };
    let link = future_link(&place, level, top_level);
    let mut right = L::new(level, 0);
    let separator = node.split(&mut right, link.to_word(), key, node.token());
    let result = apply(if key < separator { node } else { &right }, node.token());
    place.fill(right);
    if replaces_top {
        // Only who holds the topmost node for writing replaces it.
        let mut top = L::new(top_level, 0);
        top.fill(&[(0, marked(at, level, top_level).to_word()), (separator, link.to_word())], None);
        let top = shared.arena.alloc(top, cx);
        shared.link.set(marked(top, top_level, top_level));
    } else {
        separate::begin(root, level + 1, separator, link, cx);
    }
    result
}
