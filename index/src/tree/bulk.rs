//! Bulk loading: building a tree from sorted entries.

use super::handle::Tree;
use super::links::{decode_link, marked_link, reserved_link};
use crate::key_value::{Key, Value};
use crate::node::Layout;
use xtasking::{
    Runtime, Versioned,
    arena::{Arena, Link},
    task::LegalFor,
};

/// How full a bulk load makes the nodes, in percent: leaves room for some insertions before the
/// first split.
const FILL_PERCENT: usize = 90;

impl<K: Key, V: Value, L: Layout> Tree<K, V, L> {
    /// Builds a tree from entries in strictly ascending order of keys, level by level, without
    /// searching.
    ///
    /// # Panics
    ///
    /// Panics if the keys are not in strictly ascending order.
    pub fn bulk_load<P, I>(rt: &Runtime, primitive: P, entries: I) -> Self
    where
        P: LegalFor<Versioned<L>>,
        I: IntoIterator<Item = (K, V)>,
    {
        let guard = ArenaGuard(Some(Arena::with_primitive(rt, primitive)));
        let arena = guard.arena();
        let mut last = None;
        let words = entries.into_iter().map(|(key, value)| {
            let word = key.to_word();
            assert!(
                last.replace(word).is_none_or(|last| last < word),
                "the keys of a bulk load must be in strictly ascending order"
            );
            (word, value.to_word())
        });
        // The marks of leaves do not depend on the number of levels.
        let mut level = 0;
        let mut nodes = build_level(arena, level, level, words);
        while nodes.len() > 1 {
            level += 1;
            // Nor do the marks of nodes with more than two levels above them.
            let above = (0..2).scan(nodes.len(), |nodes, _| {
                *nodes = nodes.div_ceil(entries_per_node::<L>());
                (*nodes > 1).then_some(())
            });
            let top_level = level + above.count() as u64;
            nodes = build_level(arena, level, top_level, nodes.into_iter());
        }
        let top = match nodes.first() {
            Some(&(_, word)) => decode_link(word),
            None => None,
        };
        let top: Link<L> = top.unwrap_or_else(|| marked_link(arena.alloc_outside(L::new(0, 0)), 0, 0));
        Self::from_parts(rt, top, guard.finish())
    }
}

/// The arena of a tree that is being built: disposes of the nodes if building panics.
struct ArenaGuard<L: Layout>(Option<Arena<L>>);

impl<L: Layout> ArenaGuard<L> {
    fn arena(&self) -> &Arena<L> {
        self.0.as_ref().expect("only `finish` takes the arena")
    }

    fn finish(mut self) -> Arena<L> {
        self.0.take().expect("only `finish` takes the arena")
    }
}

impl<L: Layout> Drop for ArenaGuard<L> {
    fn drop(&mut self) {
        if let Some(arena) = self.0.take() {
            // SAFETY: only `bulk_load` knows the nodes, and it has not published a link to any of
            // them.
            unsafe { arena.dispose() };
        }
    }
}

/// Number of entries that a node gets.
fn entries_per_node<L: Layout>() -> usize {
    (L::CAPACITY * FILL_PERCENT / 100).max(2)
}

/// Builds one level. Returns the lowest keys and the links of its nodes, which are the entries of
/// the level above.
fn build_level<L: Layout>(
    arena: &Arena<L>,
    level: u64,
    top_level: u64,
    entries: impl Iterator<Item = (u64, u64)>,
) -> Vec<(u64, u64)> {
    let each = entries_per_node::<L>();
    let mut nodes = Vec::new();
    let mut entries = entries.peekable();
    let mut pairs = Vec::with_capacity(each);
    // A node needs the link of its right neighbour, so each cell is reserved one step ahead.
    let mut place = arena.reserve_outside();
    while entries.peek().is_some() {
        pairs.clear();
        pairs.extend(entries.by_ref().take(each));
        // The first node of a level also covers all keys before its first entry.
        let low = if nodes.is_empty() { 0 } else { pairs[0].0 };
        if level > 0 && nodes.is_empty() {
            pairs[0].0 = 0;
        }
        let next_place = arena.reserve_outside();
        let next =
            entries.peek().map(|&(key, _)| (key, reserved_link(&next_place, level, top_level).to_word()));
        let mut node = L::new(level, low);
        node.fill(&pairs, next);
        let link = marked_link(core::mem::replace(&mut place, next_place).fill(node), level, top_level);
        nodes.push((low, link.to_word()));
    }
    nodes
}
