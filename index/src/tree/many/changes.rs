//! Many changes of entries. As in a single [change](crate::tree::write), the walk descends as a
//! reader to the parent of the leaf, and writes the leaf.

use crate::key_space::{EncodedKey, KeySpace};
use crate::key_value::Key;
use crate::many::Kind;
use crate::node::{DescendResult, Layout, WriteMode};
use crate::tree::links::{CachedLevels, decode_link, mark};
use crate::tree::merge;
use crate::tree::root::{Root, RootRef};
use crate::tree::value_words;
use crate::tree::write::{ApplyResult, EntryChange, PutEntry, RemoveEntry, apply_or_split};
use crate::value::Value;
use crate::write_outcome::WriteOutcome;
use core::marker::PhantomData;
use xtasking::{
    Context, Part,
    arena::{Link, Written},
    bundle::{Hop, Start, Walk},
};

/// Entries to be added or replaced.
pub(super) struct Puts<'k, K, V, L, R> {
    pub mode: WriteMode,
    /// Returns the caller's result.
    pub result: fn(WriteOutcome<V>) -> R,
    pub types: PhantomData<fn(&'k K, L)>,
}

impl<'k, K: Key, V: Value, L: Layout<Keys = K::Keys>, R: Clone + Send> Kind for Puts<'k, K, V, L, R> {
    type Root = Root<L>;
    type Item = (K::Arg<'k>, V);
    type Output = R;
    type Walk = ChangeWalk<L, K::Probe<'k>, PutEntry<V>>;

    #[inline(always)]
    fn begin(&self, (key, value): Self::Item, root: &Root<L>) -> (Start<L>, Self::Walk) {
        ChangeWalk::begin(root, K::probe(key), PutEntry::new(value, self.mode))
    }

    #[inline(always)]
    fn finish(
        &self,
        _: &Self::Walk,
        (outcome, _): (WriteOutcome<u64>, bool),
        _: RootRef<L>,
        cx: &mut Context,
    ) -> R {
        (self.result)(value_words::outcome(outcome, cx))
    }
}

/// Entries to be removed.
pub(super) struct Removes<'k, K, V, L>(pub PhantomData<fn(&'k K, L) -> V>);

impl<'k, K: Key, V: Value, L: Layout<Keys = K::Keys>> Kind for Removes<'k, K, V, L> {
    type Root = Root<L>;
    type Item = K::Arg<'k>;
    type Output = Option<V>;
    type Walk = ChangeWalk<L, K::Probe<'k>, RemoveEntry>;

    #[inline(always)]
    fn begin(&self, key: Self::Item, root: &Root<L>) -> (Start<L>, Self::Walk) {
        ChangeWalk::begin(root, K::probe(key), RemoveEntry)
    }

    #[inline(always)]
    fn finish(
        &self,
        walk: &Self::Walk,
        (old, sparse): (Option<u64>, bool),
        root: RootRef<L>,
        cx: &mut Context,
    ) -> Option<V> {
        if sparse {
            merge::begin(root, 1, L::Keys::to_owned(walk.key.key()), cx);
        }
        old.map(|word| value_words::take(word, cx))
    }
}

/// The walk of a change. It ends with the change's result, and says whether the leaf is sparse.
pub(super) struct ChangeWalk<L: Layout, Q, E> {
    root: RootRef<L>,
    pub key: Q,
    /// The place of the key in the node that the walk has arrived at.
    pub place: L::Place,
    cached: CachedLevels,
    pub change: E,
}

impl<L: Layout, Q, E> ChangeWalk<L, Q, E> {
    /// Returns the walk and its start: the topmost node, which is written if it is a leaf.
    #[inline(always)]
    pub fn begin(root: &Root<L>, key: Q, change: E) -> (Start<L>, Self) {
        let top = root.link.get();
        let cached = CachedLevels::of(top);
        let start = if top.mark() == mark::LEAF {
            top.write().part(L::FIRST).into()
        } else {
            cached.annotate_top(top).read().part(L::FIRST).into()
        };
        (start, Self { root: RootRef::new(root), key, place: L::Place::default(), cached, change })
    }
}

impl<L: Layout, Q: EncodedKey<L::Keys>, E: EntryChange> Walk for ChangeWalk<L, Q, E>
where
    E::Result: Send,
{
    type Target = L;
    type Output = (E::Result, bool);

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&mut self, _: Link<L>, node: &L) -> Part {
        self.place = node.place_of(self.key.key());
        L::part_of(self.place)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&self, at: Link<L>, node: &L) -> Hop<L, Self::Output> {
        let (DescendResult::Child(word) | DescendResult::Right(word)) =
            node.descend_at(self.key.key(), self.place);
        match decode_link::<L>(word) {
            Some(leaf) if leaf.mark() == mark::LEAF => Hop::Write(leaf, L::FIRST),
            Some(next) => Hop::Go(self.cached.annotate(at, next), L::FIRST),
            None => Hop::Again,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write(&mut self, at: Link<L>, leaf: Written<'_, L>, cx: &mut Context) -> Hop<L, Self::Output> {
        match apply_or_split(&mut self.change, self.root, at, &leaf, self.key.key(), cx) {
            ApplyResult::Done(result) => Hop::End((result, false)),
            ApplyResult::Sparse(result) => Hop::End((result, true)),
            ApplyResult::Elsewhere(word) => match decode_link::<L>(word) {
                Some(next) => Hop::Write(next, L::FIRST),
                None => Hop::Again,
            },
            ApplyResult::Full => unreachable!("a full leaf is split"),
        }
    }
}
