//! Many operations of all kinds.

use super::changes::ChangeWalk;
use crate::batch::{Request, Response};
use crate::key_space::{EncodedKey, KeySpace};
use crate::key_value::Key;
use crate::many::Kind;
use crate::node::{FindResult, KeyRef, Layout};
use crate::tree::links::{decode_link, mark};
use crate::tree::merge;
use crate::tree::root::{Root, RootRef};
use crate::tree::value_words;
use crate::tree::write::{ApplyResult, EntryChange, PutEntry, RemoveEntry, ResultOf};
use crate::value::Value;
use core::marker::PhantomData;
use xtasking::{
    Context, Part,
    arena::{Link, WriteToken, Written},
    bundle::{Hop, Start, Walk},
};

/// Operations of all kinds.
pub(super) struct Requests<'k, K, V, L>(pub PhantomData<fn(&'k K, L) -> V>);

impl<'k, K: Key, V: Value, L: Layout<Keys = K::Keys>> Kind for Requests<'k, K, V, L> {
    type Root = Root<L>;
    type Item = Request<K::Arg<'k>, V>;
    type Output = Response<V>;
    type Walk = RequestWalk<L, K::Probe<'k>, V>;

    #[inline(always)]
    fn begin(&self, request: Self::Item, root: &Root<L>) -> (Start<L>, Self::Walk) {
        let (key, change) = match request {
            Request::Get(key) => (key, Requested::Get),
            Request::Write(key, value, mode) => (key, Requested::Put(PutEntry::new(value, mode))),
            Request::Remove(key) => (key, Requested::Remove),
        };
        let reads = matches!(change, Requested::Get);
        let (start, walk) = ChangeWalk::begin(root, K::probe(key), change);
        let top = root.link.get();
        let start = if reads && top.mark() == mark::LEAF { top.read().part(L::FIRST).into() } else { start };
        (start, RequestWalk(walk))
    }

    #[inline(always)]
    fn finish(
        &self,
        walk: &Self::Walk,
        (response, sparse): (Response<u64>, bool),
        root: RootRef<L>,
        cx: &mut Context,
    ) -> Response<V> {
        if sparse {
            merge::begin(root, 1, L::Keys::to_owned(walk.0.key.key()), cx);
        }
        match response {
            Response::Get(word) => Response::Get(word.map(|word| value_words::copy(word, cx))),
            Response::Write(outcome) => Response::Write(value_words::outcome(outcome, cx)),
            Response::Remove(word) => Response::Remove(word.map(|word| value_words::take(word, cx))),
        }
    }
}

/// What a request does with the leaf of its key.
pub(super) enum Requested<V: Value> {
    Get,
    Put(PutEntry<V>),
    Remove,
}

impl<V: Value> EntryChange for Requested<V> {
    type Result = Response<u64>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn apply<L: Layout>(&mut self, leaf: &L, key: KeyRef<'_, L>, token: &WriteToken<'_>) -> ResultOf<Self> {
        match self {
            Self::Get => match leaf.find(key) {
                FindResult::Value(word) => ApplyResult::Done(Response::Get(Some(word))),
                FindResult::Missing => ApplyResult::Done(Response::Get(None)),
                FindResult::Right(link) => ApplyResult::Elsewhere(link),
            },
            Self::Put(put) => put.apply(leaf, key, token).map(Response::Write),
            Self::Remove => RemoveEntry.apply(leaf, key, token).map(Response::Remove),
        }
    }
}

/// The walk of a request. It ends with the response, and says whether the leaf is sparse.
pub(super) struct RequestWalk<L: Layout, Q, V: Value>(ChangeWalk<L, Q, Requested<V>>);

impl<L: Layout, Q: EncodedKey<L::Keys>, V: Value> Walk for RequestWalk<L, Q, V> {
    type Target = L;
    type Output = (Response<u64>, bool);

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&mut self, at: Link<L>, node: &L) -> Part {
        self.0.locate(at, node)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&self, at: Link<L>, node: &L) -> Hop<L, Self::Output> {
        if at.mark() == mark::LEAF {
            // Changes write leaves, and read none.
            return match node.find_at(self.0.key.key(), self.0.place) {
                FindResult::Value(word) => Hop::End((Response::Get(Some(word)), false)),
                FindResult::Missing => Hop::End((Response::Get(None), false)),
                FindResult::Right(word) => {
                    decode_link(word).map_or(Hop::Again, |next| Hop::Go(next, L::FIRST))
                }
            };
        }
        match self.0.read(at, node) {
            Hop::Write(leaf, part) if matches!(self.0.change, Requested::Get) => Hop::Go(leaf, part),
            hop => hop,
        }
    }

    #[inline(always)]
    fn write(&mut self, at: Link<L>, leaf: Written<'_, L>, cx: &mut Context) -> Hop<L, Self::Output> {
        self.0.write(at, leaf, cx)
    }
}
