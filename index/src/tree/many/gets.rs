//! Many lookups.

use crate::key_space::EncodedKey;
use crate::key_value::Key;
use crate::many::Kind;
use crate::node::{DescendResult, FindResult, Layout};
use crate::tree::links::{CachedLevels, decode_link, mark};
use crate::tree::root::{Root, RootRef};
use crate::tree::value_words;
use crate::value::Value;
use core::marker::PhantomData;
use xtasking::{
    Context, Part,
    arena::Link,
    bundle::{Hop, Start, Walk},
};

/// Lookups of keys.
pub(super) struct Gets<'k, K, V, L>(pub PhantomData<fn(&'k K, L) -> V>);

impl<'k, K: Key, V: Value, L: Layout<Keys = K::Keys>> Kind for Gets<'k, K, V, L> {
    type Root = Root<L>;
    type Item = K::Arg<'k>;
    type Output = Option<V>;
    type Walk = GetWalk<L, K::Probe<'k>>;

    #[inline(always)]
    fn begin(&self, key: K::Arg<'k>, root: &Root<L>) -> (Start<L>, Self::Walk) {
        let top = root.link.get();
        let cached = CachedLevels::of(top);
        let walk = GetWalk { key: K::probe(key), place: L::Place::default(), cached };
        (cached.annotate_top(top).read().part(L::FIRST).into(), walk)
    }

    #[inline(always)]
    fn finish(&self, _: &Self::Walk, value: Option<u64>, _: RootRef<L>, cx: &mut Context) -> Option<V> {
        value.map(|word| value_words::copy(word, cx))
    }
}

/// The walk of a lookup.
pub(super) struct GetWalk<L: Layout, Q> {
    key: Q,
    /// The place of the key in the node that the walk has arrived at.
    place: L::Place,
    cached: CachedLevels,
}

impl<L: Layout, Q: EncodedKey<L::Keys>> Walk for GetWalk<L, Q> {
    type Target = L;
    type Output = Option<u64>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&mut self, _: Link<L>, node: &L) -> Part {
        self.place = node.place_of(self.key.key());
        L::part_of(self.place)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&self, at: Link<L>, node: &L) -> Hop<L, Option<u64>> {
        let word = if at.mark() == mark::LEAF {
            match node.find_at(self.key.key(), self.place) {
                FindResult::Value(value) => return Hop::End(Some(value)),
                FindResult::Missing => return Hop::End(None),
                FindResult::Right(word) => word,
            }
        } else {
            let (DescendResult::Child(word) | DescendResult::Right(word)) =
                node.descend_at(self.key.key(), self.place);
            word
        };
        match decode_link(word) {
            Some(next) => Hop::Go(self.cached.annotate(at, next), L::FIRST),
            None => Hop::Again,
        }
    }
}
