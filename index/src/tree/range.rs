//! The operations on ranges of keys: reading in both orders, the ends, and counting.

use super::handle::Tree;
use super::key_range::KeyRange;
use super::order::{Ascending, Descending, Order};
use super::scan;
use super::sinks::{Entry, EntryCollector, EntryCounter, FirstEntry, LeafCollector};
use super::value_words::{self, Keeper};
use crate::key_value::Key;
use crate::node::Layout;
use crate::value::Value;
use core::ops::RangeBounds;
use xtasking::{Context, task::Spawner};

/// The entries of some leaves, and the keys that are left.
pub(crate) type LeafEntries<K, V> = (Vec<(K, V)>, Option<KeyRange<<K as Key>::Keys>>);

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    /// Collects up to `limit` entries from key `from` on, in order. Each leaf is read atomically,
    /// but writers may run between two leaves.
    pub fn scan<S, F>(&self, at: S, from: K::Arg<'_>, limit: usize, then: F)
    where
        S: Spawner,
        F: FnOnce(Vec<(K, V)>, &mut Context) + Send + 'static,
    {
        self.scan_range(at, from.., limit, then);
    }

    /// Collects up to `limit` entries of a range of keys, the least keys first. Each leaf is read
    /// atomically, but writers may run between two leaves. [`snapshot`](Self::snapshot) reads all
    /// at one moment.
    ///
    /// A range that ends before it begins has no entries.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_index::Tree;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Tree::<u64, u64>::new(&rt);
    /// let client = tree.client(&rt);
    /// client.insert_many(&[(1, 10), (2, 20), (3, 30), (4, 40)])?;
    ///
    /// let (promise, handle) = rt.promise();
    /// rt.task(()).spawn(move |(), cx| {
    ///     tree.scan_range(cx, 2..4, 10, |entries, _cx| promise.fulfil(entries));
    /// });
    /// assert_eq!(handle.join()?, [(2, 20), (3, 30)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan_range<'k, S, F>(&self, at: S, range: impl RangeBounds<K::Arg<'k>>, limit: usize, then: F)
    where
        S: Spawner,
        F: FnOnce(Vec<(K, V)>, &mut Context) + Send + 'static,
    {
        self.collect::<Ascending, _, _>(at, KeyRange::of::<K>(&range), limit, then);
    }

    /// Collects up to `limit` entries of a range of keys, the greatest keys first; otherwise like
    /// [`scan_range`](Self::scan_range).
    ///
    /// As leaves have no left links, it descends from the topmost node for each leaf.
    pub fn scan_range_rev<'k, S, F>(&self, at: S, range: impl RangeBounds<K::Arg<'k>>, limit: usize, then: F)
    where
        S: Spawner,
        F: FnOnce(Vec<(K, V)>, &mut Context) + Send + 'static,
    {
        self.collect::<Descending, _, _>(at, KeyRange::of::<K>(&range), limit, then);
    }

    pub(crate) fn collect<O: Order, S, F>(&self, at: S, range: KeyRange<K::Keys>, limit: usize, then: F)
    where
        S: Spawner,
        F: FnOnce(Vec<(K, V)>, &mut Context) + Send + 'static,
    {
        scan::begin::<O, _, _, _, _>(at, self.root(), range, EntryCollector::<K, V>::new(limit), then);
    }

    /// Collects the entries of some leaves. The continuation also gets the keys that are left.
    pub(crate) fn collect_leaves<O: Order, S, F>(
        &self,
        at: S,
        range: KeyRange<K::Keys>,
        leaves: usize,
        then: F,
    ) where
        S: Spawner,
        F: FnOnce(LeafEntries<K, V>, &mut Context) + Send + 'static,
    {
        scan::begin::<O, _, _, _, _>(at, self.root(), range, LeafCollector::<K, V>::new(leaves), then);
    }

    /// Counts the entries. Entries that exist during the whole operation are counted; those added
    /// or removed meanwhile may or may not be.
    pub fn count<S, F>(&self, at: S, then: F)
    where
        S: Spawner,
        F: FnOnce(u64, &mut Context) + Send + 'static,
    {
        self.count_words(at, KeyRange::all(), then);
    }

    /// Counts the entries of a range of keys; see [`count`](Self::count).
    pub fn count_range<'k, S, F>(&self, at: S, range: impl RangeBounds<K::Arg<'k>>, then: F)
    where
        S: Spawner,
        F: FnOnce(u64, &mut Context) + Send + 'static,
    {
        self.count_words(at, KeyRange::of::<K>(&range), then);
    }

    pub(crate) fn count_words<S, F>(&self, at: S, range: KeyRange<K::Keys>, then: F)
    where
        S: Spawner,
        F: FnOnce(u64, &mut Context) + Send + 'static,
    {
        scan::begin::<Ascending, _, _, _, _>(at, self.root(), range, EntryCounter::default(), then);
    }

    /// Finds the entry with the least key.
    ///
    /// An entry that is there during the whole operation is found, or one with a lower key; the
    /// same holds for the other ends.
    pub fn first_key_value<S, F>(&self, at: S, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<(K, V)>, &mut Context) + Send + 'static,
    {
        self.first_of::<Ascending, _, _>(at, KeyRange::all(), then);
    }

    /// Finds the entry with the greatest key.
    pub fn last_key_value<S, F>(&self, at: S, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<(K, V)>, &mut Context) + Send + 'static,
    {
        self.first_of::<Descending, _, _>(at, KeyRange::all(), then);
    }

    /// Finds the entry with the least key that is not below `key`.
    pub fn ceiling<S, F>(&self, at: S, key: K::Arg<'_>, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<(K, V)>, &mut Context) + Send + 'static,
    {
        self.first_of::<Ascending, _, _>(at, KeyRange::of::<K>(&(key..)), then);
    }

    /// Finds the entry with the greatest key that is not above `key`.
    pub fn floor<S, F>(&self, at: S, key: K::Arg<'_>, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<(K, V)>, &mut Context) + Send + 'static,
    {
        self.first_of::<Descending, _, _>(at, KeyRange::of::<K>(&(..=key)), then);
    }

    /// Finds the first entry of a range in this order.
    pub(crate) fn first_of<O: Order, S, F>(&self, at: S, range: KeyRange<K::Keys>, then: F)
    where
        S: Spawner,
        F: FnOnce(Option<(K, V)>, &mut Context) + Send + 'static,
    {
        let then = move |found: Option<Entry<K::Keys>>, cx: &mut Context| {
            let found = found.map(|entry| decode(entry, cx));
            then(found, cx);
        };
        scan::begin::<O, _, _, _, _>(at, self.root(), range, FirstEntry::new(), then);
    }
}

/// Decodes an entry that the running operation has read, and validated.
#[inline]
pub(super) fn decode<K: Key, V: Value>((key, value): Entry<K::Keys>, keeper: &impl Keeper) -> (K, V) {
    (K::decode(key), value_words::copy(value, keeper))
}
