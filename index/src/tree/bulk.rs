//! Bulk loading: building a tree from sorted entries.
//!
//! Each level is built from the entries of the level below, from left to right. The entries can
//! also be divided into shares, each of which becomes whole nodes. Then a worker builds the nodes
//! of each share, and the same tree comes out. The first node of a share is reserved before, since
//! the share before links to it.

use super::handle::Tree;
use super::links::{decode_link, marked_link, reserved_link};
use super::load_error::LoadError;
use crate::key_space::{EncodedKey, KeySpace};
use crate::key_value::Key;
use crate::node::{Layout, OwnedKey};
use crate::value::{Value, ValueForm};
use xtasking::{
    Runtime, Versioned,
    arena::{Arena, Link, Reserved},
    task::LegalFor,
};

/// The least number of nodes that a worker gets: to wake another one takes longer.
const LEAST_NODES: usize = 32;

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    /// Builds a tree from entries in strictly ascending order of keys, level by level, without
    /// searching. For entries in a slice, [`load_sorted`](Self::load_sorted) does the same with all
    /// workers.
    ///
    /// # Panics
    ///
    /// Panics if the keys are not in strictly ascending order.
    pub fn bulk_load<P, I>(rt: &Runtime, primitive: P, entries: I) -> Self
    where
        P: LegalFor<Versioned<L>>,
        I: IntoIterator<Item = (K, V)>,
    {
        let arena = &Arena::with_primitive(rt, primitive);
        let entries = entries.into_iter().map(|(key, value)| (key.encode(), V::Form::into_word(value)));
        let Ok(leaves) = build_level(arena, 0, 0, entries) else {
            panic!("the keys of a bulk load must be in strictly ascending order")
        };
        let build = |nodes: Vec<_>, level, top_level| {
            build_level(arena, level, top_level, nodes.into_iter()).map_err(LoadError::from)
        };
        let top = build_above(arena, leaves, build).expect("separators ascend, and there are no tasks");
        Self::from_parts(rt, top, arena.clone())
    }

    /// Builds a tree from a slice of entries in strictly ascending order of keys, with all workers.
    /// The tree is the same as that of [`bulk_load`](Self::bulk_load).
    ///
    /// # Errors
    ///
    /// Fails with [`LoadError::Unsorted`] if the keys are not in strictly ascending order. Fails
    /// with [`LoadError::Join`] on a worker of the same runtime, which cannot wait for the others,
    /// and if a task fails.
    ///
    /// ```
    /// use xtasking::{Runtime, primitive::OptimisticLatched};
    /// use xtasking_index::{LoadError, Tree};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let squares: Vec<(u64, u64)> = (0..100_000).map(|key| (key, key * key)).collect();
    /// let tree = Tree::<u64, u64>::load_sorted(&rt, OptimisticLatched, &squares)?;
    /// assert_eq!(tree.client(&rt).get(300)?, Some(90_000));
    ///
    /// let twice = [(1, 1), (2, 4), (2, 4)];
    /// let failed = Tree::<u64, u64>::load_sorted(&rt, OptimisticLatched, &twice);
    /// assert!(matches!(failed, Err(LoadError::Unsorted { index: 2 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_sorted<P>(rt: &Runtime, primitive: P, entries: &[(K::Arg<'_>, V)]) -> Result<Self, LoadError>
    where
        P: LegalFor<Versioned<L>>,
    {
        // Before values are made for the nodes, which nothing would drop.
        let is_unsorted = |pair: &[(K::Arg<'_>, V)]| {
            let [one, other] = [K::probe(pair[0].0), K::probe(pair[1].0)];
            K::Keys::compare(one.key(), other.key()).is_ge()
        };
        if let Some(number) = entries.windows(2).position(is_unsorted) {
            return Err(LoadError::Unsorted { index: number + 1 });
        }
        let arena = &Arena::with_primitive(rt, primitive);
        let key = |(key, _): &(K::Arg<'_>, V)| L::Keys::to_owned(K::probe(*key).key());
        let word = |(_, value): &(K::Arg<'_>, V)| V::Form::into_word(value.clone());
        let leaves = build_shares(rt, arena, 0, 0, entries, key, word)?;
        let top = build_above(arena, leaves, |nodes, level, top_level| {
            build_shares(rt, arena, level, top_level, &nodes, |(key, _)| key.clone(), |&(_, word)| word)
        })?;
        Ok(Self::from_parts(rt, top, arena.clone()))
    }
}

/// Builds the inner levels above some nodes with `build`, which gets the lowest keys and links of
/// the level below, the level and the topmost level. Returns the topmost node.
fn build_above<L: Layout>(
    arena: &Arena<L>,
    mut nodes: Vec<(OwnedKey<L>, u64)>,
    build: impl Fn(Vec<(OwnedKey<L>, u64)>, u64, u64) -> Result<Vec<(OwnedKey<L>, u64)>, LoadError>,
) -> Result<Link<L>, LoadError> {
    // The marks of leaves do not depend on the number of levels.
    let mut level = 0;
    while nodes.len() > 1 {
        level += 1;
        // Nor do the marks of nodes with more than two levels above them.
        let above = (0..2).scan(nodes.len(), |nodes, _| {
            *nodes = nodes.div_ceil(L::BULK_ENTRIES);
            (*nodes > 1).then_some(())
        });
        let top_level = level + above.count() as u64;
        nodes = build(nodes, level, top_level)?;
    }
    let top = nodes.first().and_then(|&(_, word)| decode_link(word));
    Ok(top.unwrap_or_else(|| marked_link(arena.alloc_outside(L::new(0, L::Keys::LOWEST)), 0, 0)))
}

/// Builds one level. Returns the lowest keys and the links of its nodes, which are the entries of
/// the level above.
fn build_level<L: Layout>(
    arena: &Arena<L>,
    level: u64,
    top_level: u64,
    entries: impl Iterator<Item = (OwnedKey<L>, u64)>,
) -> Result<Vec<(OwnedKey<L>, u64)>, Unsorted> {
    let share = Share { level, top_level, is_first: true, first: arena.reserve_outside(), next: None };
    share.build(entries, || arena.reserve_outside())
}

/// Builds one level with all workers. Returns the lowest keys and the links of its nodes, which are
/// the entries of the level above.
fn build_shares<L: Layout, E: Sync>(
    rt: &Runtime,
    arena: &Arena<L>,
    level: u64,
    top_level: u64,
    entries: &[E],
    key: impl Fn(&E) -> OwnedKey<L> + Send + Sync,
    word: impl Fn(&E) -> u64 + Send + Sync,
) -> Result<Vec<(OwnedKey<L>, u64)>, LoadError> {
    let each = L::BULK_ENTRIES;
    let nodes = entries.len().div_ceil(each);
    let share_len = each * nodes.div_ceil(rt.workers()).max(LEAST_NODES);
    let mut results: Vec<_> = entries.chunks(share_len).map(|_| Ok(Vec::new())).collect();
    // A word may own a value, so it is made once.
    let encode = &|entry: &E| (key(entry), word(entry));
    rt.task_scope(|scope| {
        // From right to left, since each share links to the next one.
        let mut next = None;
        let shares = entries.chunks(share_len).zip(&mut results).enumerate();
        for (number, (entries, result)) in shares.collect::<Vec<_>>().into_iter().rev() {
            let first = arena.reserve_outside();
            let link = reserved_link(&first, level, top_level).to_word();
            let share = Share { level, top_level, is_first: number == 0, first, next };
            next = entries.first().map(|entry| (key(entry), link));
            scope.task(()).core(number as u16).spawn(move |(), cx| {
                let nodes = share.build(entries.iter().map(encode), || arena.reserve(cx));
                *result = nodes.map_err(|Unsorted { index }| Unsorted { index: index + number * share_len });
            });
        }
    })?;
    let mut nodes = Vec::with_capacity(nodes);
    for share in results {
        nodes.extend(share?);
    }
    Ok(nodes)
}

/// The nodes that are built from some neighbouring entries of a level.
struct Share<'a, L: Layout> {
    level: u64,
    top_level: u64,
    /// Whether these are the first nodes of the level.
    is_first: bool,
    /// The place of the first node.
    first: Reserved<'a, L>,
    /// The lowest key and the link of the node behind these.
    next: Option<(OwnedKey<L>, u64)>,
}

/// The keys do not ascend.
struct Unsorted {
    /// The first entry whose key is not above that of the one before.
    index: usize,
}

impl From<Unsorted> for LoadError {
    fn from(Unsorted { index }: Unsorted) -> Self {
        Self::Unsorted { index }
    }
}

impl<'a, L: Layout> Share<'a, L> {
    /// Builds the nodes. Returns their lowest keys and their links.
    fn build(
        self,
        entries: impl Iterator<Item = (OwnedKey<L>, u64)>,
        mut reserve: impl FnMut() -> Reserved<'a, L>,
    ) -> Result<Vec<(OwnedKey<L>, u64)>, Unsorted> {
        let Self { level, top_level, is_first, first: mut place, next: end } = self;
        let mut nodes = Vec::new();
        let mut entries = entries.fuse();
        // Entries that no node has yet, and how many have one.
        let mut pairs: Vec<(OwnedKey<L>, u64)> = Vec::with_capacity(L::BULK_ENTRIES + 1);
        let mut done = 0;
        loop {
            pairs.extend(entries.by_ref().take(L::BULK_ENTRIES + 1 - pairs.len()));
            let Some((lowest, _)) = pairs.first_mut() else { return Ok(nodes) };
            // The first node of a level also covers all keys before its first entry.
            let is_lowest = is_first && nodes.is_empty();
            let low = if is_lowest { L::Keys::to_owned(L::Keys::LOWEST) } else { lowest.clone() };
            if level > 0 && is_lowest {
                *lowest = low.clone();
            }
            if let Some(number) = pairs.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
                return Err(Unsorted { index: done + number + 1 });
            }
            let count = L::bulk_len(low.key(), &pairs[..pairs.len().min(L::BULK_ENTRIES)]);
            let (taken, others) = pairs.split_at(count);
            // A node needs the link of its right neighbour, so that is reserved one step ahead.
            let behind = others.first().map(|(key, _)| (key, reserve()));
            let next = match &behind {
                Some((key, place)) => Some((*key, reserved_link(place, level, top_level).to_word())),
                None => end.as_ref().map(|(key, link)| (key, *link)),
            };
            if let (Some((last, _)), Some((end, _))) = (taken.last(), next)
                && last >= end
            {
                return Err(Unsorted { index: done + count });
            }
            let mut node = L::new(level, low.key());
            node.fill(taken, next.map(|(key, link)| (key.key(), link)));
            let behind = behind.map(|(_, place)| place);
            done += count;
            pairs.drain(..count);
            let link = marked_link(place.fill(node), level, top_level);
            nodes.push((low, link.to_word()));
            match behind {
                Some(behind) => place = behind,
                None => return Ok(nodes),
            }
        }
    }
}
