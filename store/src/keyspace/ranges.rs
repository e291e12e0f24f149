//! The keys between two cuts, merged from the orders of all shards.

use super::order::KeyRun;
use super::{Entry, KeyCut, Keys};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Iterates over keys of a database that is in order. Those that have expired are left out.
#[derive(Debug)]
pub struct KeysInOrder<'s> {
    keys: &'s Keys<'s>,
    /// What is left of each shard, but for its next key.
    runs: Vec<KeyRun<'s>>,
    next: BinaryHeap<NextKey<'s>>,
}

/// The next key of a shard. The greatest comes first.
#[derive(Debug, PartialEq, Eq)]
struct NextKey<'s> {
    key: &'s [u8],
    /// The position of the shard.
    at: usize,
    is_reverse: bool,
}

impl Ord for NextKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.key.cmp(other.key);
        if self.is_reverse { order } else { order.reverse() }
    }
}

impl PartialOrd for NextKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Keys<'_> {
    /// Iterates over the keys between two cuts in the order of their bytes, or in reverse order.
    /// Returns `None` if the database is not in order.
    pub fn range(&self, from: KeyCut<'_>, to: KeyCut<'_>, is_reverse: bool) -> Option<KeysInOrder<'_>> {
        let (mut runs, mut next) = (Vec::with_capacity(self.held().len()), Vec::new());
        let shards = self.held().len() - usize::from(planted!("range-of-some-shards"));
        for (at, held) in self.held().iter().take(shards).enumerate() {
            let mut run = held.databases[self.database()].table.order()?.between(from, to, is_reverse);
            next.extend(run.next().map(|key| NextKey { key, at, is_reverse }));
            runs.push(run);
        }
        Some(KeysInOrder { keys: self, runs, next: next.into() })
    }

    /// Returns the number of keys between two cuts, those that have expired and were not removed
    /// included. Returns `None` if the database is not in order.
    pub fn count_range(&self, from: KeyCut<'_>, to: KeyCut<'_>) -> Option<usize> {
        let orders = self.held().iter().map(|held| held.databases[self.database()].table.order());
        orders.map(|order| order.map(|order| order.rank(to).saturating_sub(order.rank(from)))).sum()
    }

    /// Returns true if the database is in order.
    pub fn is_ordered(&self) -> bool {
        self.held().iter().all(|held| held.databases[self.database()].table.order().is_some())
    }

    /// Returns the keys between two cuts in one of the shards, expired ones included. It looks at
    /// all keys there if the database is not in order. `None` after the last shard.
    pub(crate) fn shard_range(&self, at: usize, from: KeyCut<'_>, to: KeyCut<'_>) -> Option<Vec<Box<[u8]>>> {
        let table = &self.held().get(at)?.databases[self.database()].table;
        let is_within = |key: &&[u8]| !from.is_after(key) && to.is_after(key);
        Some(match table.order() {
            Some(order) => order.between(from, to, false).map(Into::into).collect(),
            None => table.iter().map(Entry::key).filter(is_within).map(Into::into).collect(),
        })
    }
}

impl KeysInOrder<'_> {
    fn has_expired(&self, key: &[u8], at: usize) -> bool {
        let table = &self.keys.held()[at].databases[self.keys.database()].table;
        let is_expired = |entry: &Entry| entry.is_expired(self.keys.expiry_now());
        table.expiring() > 0
            && table.find(self.keys.layout().hash(key), key).is_some_and(is_expired)
            && !planted!("range-shows-expired")
    }
}

impl<'s> Iterator for KeysInOrder<'s> {
    type Item = &'s [u8];

    fn next(&mut self) -> Option<&'s [u8]> {
        loop {
            let mut top = self.next.peek_mut()?;
            let (key, at) = (top.key, top.at);
            match self.runs[at].next() {
                Some(next) => {
                    top.key = next;
                    drop(top);
                }
                None => _ = PeekMut::pop(top),
            }
            if !self.has_expired(key, at) {
                return Some(key);
            }
        }
    }
}
