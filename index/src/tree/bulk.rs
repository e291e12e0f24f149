//! Building a tree from sorted entries.

use super::{Tree, marked};
use crate::fixed::{Key, Value};
use crate::node::Layout;
use xtasking::{Arena, LegalFor, Link, Runtime, Versioned};

/// Share of a node that a bulk load fills, in percent: room for some inserts before the first split.
const FILL: usize = 90;

impl<K: Key, V: Value, L: Layout> Tree<K, V, L> {
    /// A tree of entries in strictly ascending order of keys, built level by level without searching.
    ///
    /// # Panics
    ///
    /// If the keys are not in strictly ascending order.
    pub fn bulk_load<P, I>(rt: &Runtime, primitive: P, entries: I) -> Self
    where
        P: LegalFor<Versioned<L>>,
        I: IntoIterator<Item = (K, V)>,
    {
        let unfinished = Unfinished(Some(Arena::with_primitive(rt, primitive)));
        let arena = unfinished.arena();
        let mut last = None;
        let words = entries.into_iter().map(|(key, value)| {
            let word = key.to_word();
            assert!(
                last.replace(word).is_none_or(|last| last < word),
                "keys of a bulk load are in ascending order"
            );
            (word, value.to_word())
        });
        // How many levels there will be makes no difference to leaves.
        let mut level = 0;
        let mut nodes = build_level(arena, level, level, words);
        while nodes.len() > 1 {
            level += 1;
            // More than two levels above make no difference, either.
            let above = (0..2).scan(nodes.len(), |nodes, _| {
                *nodes = nodes.div_ceil(each::<L>());
                (*nodes > 1).then_some(())
            });
            let top_level = level + above.count() as u64;
            nodes = build_level(arena, level, top_level, nodes.into_iter());
        }
        let top = match nodes.first() {
            Some(&(_, word)) => super::link_of(word),
            None => None,
        };
        let top: Link<L> = top.unwrap_or_else(|| marked(arena.alloc_outside(L::new(0, 0)), 0, 0));
        Self::from_parts(rt, top, unfinished.finish())
    }
}

/// The arena of a tree that nobody has seen yet: if its entries turn out to be wrong, the nodes go.
struct Unfinished<L: Layout>(Option<Arena<L>>);

impl<L: Layout> Unfinished<L> {
    fn arena(&self) -> &Arena<L> {
        self.0.as_ref().expect("it is there until the end")
    }

    fn finish(mut self) -> Arena<L> {
        self.0.take().expect("it is there until the end")
    }
}

impl<L: Layout> Drop for Unfinished<L> {
    fn drop(&mut self) {
        if let Some(arena) = self.0.take() {
            // SAFETY: the links of this arena's nodes are in these nodes only.
            unsafe { arena.dispose() };
        }
    }
}

/// Entries that a node gets.
fn each<L: Layout>() -> usize {
    (L::CAPACITY * FILL / 100).max(2)
}

/// Builds one level, and returns its nodes' lowest keys and links: the entries of the level above.
fn build_level<L: Layout>(
    arena: &Arena<L>,
    level: u64,
    top_level: u64,
    entries: impl Iterator<Item = (u64, u64)>,
) -> Vec<(u64, u64)> {
    let each = each::<L>();
    let mut nodes = Vec::new();
    let mut entries = entries.peekable();
    let mut pairs = Vec::with_capacity(each);
    // A node needs its right neighbour's link before it is made, so the place of each is reserved one step ahead.
    let mut place = arena.reserve_outside();
    while entries.peek().is_some() {
        pairs.clear();
        pairs.extend(entries.by_ref().take(each));
        // The first node of a level covers all that comes before its first entry, too.
        let low = if nodes.is_empty() { 0 } else { pairs[0].0 };
        if level > 0 && nodes.is_empty() {
            pairs[0].0 = 0;
        }
        let next_place = arena.reserve_outside();
        let next = entries
            .peek()
            .map(|&(key, _)| (key, super::future_link(&next_place, level, top_level).to_word()));
        let mut node = L::new(level, low);
        node.fill(&pairs, next);
        let link = marked(core::mem::replace(&mut place, next_place).fill(node), level, top_level);
        nodes.push((low, link.to_word()));
    }
    nodes
}
