//! Calls that read ranges of keys.

use super::Client;
use crate::key_value::Key;
use crate::node::Layout;
use crate::tree::{Ascending, Descending, KeyRange, LeafEntries, Order, SnapshotError};
use crate::value::Value;
use core::ops::RangeBounds;
use xtasking::JoinError;

/// Reading in order.
///
/// Each leaf is read atomically, but writers may run between two leaves: a key that is there
/// during the whole call is found once; one that is added or removed meanwhile may or may not be.
/// [`snapshot`](Client::snapshot) reads a range at one moment.
///
/// Ranges are those of the standard library, such as `2..4`, `..=9` or `..`. A range that ends
/// before it begins has no entries.
impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Client<'_, K, V, L> {
    /// Returns up to `limit` entries from key `from` on, in order.
    pub fn scan(&self, from: K::Arg<'_>, limit: usize) -> Result<Vec<(K, V)>, JoinError> {
        self.scan_range(from.., limit)
    }

    /// Returns up to `limit` entries of a range of keys, the least keys first.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_index::Tree;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Tree::<u64, char>::new(&rt);
    /// let client = tree.client(&rt);
    /// client.insert_many(&[(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')])?;
    /// assert_eq!(client.scan_range(2..4, 10)?, [(2, 'b'), (3, 'c')]);
    /// assert_eq!(client.scan_range_rev(..=3, 2)?, [(3, 'c'), (2, 'b')]);
    /// assert_eq!(client.count_range(2..)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan_range<'k>(
        &self,
        range: impl RangeBounds<K::Arg<'k>>,
        limit: usize,
    ) -> Result<Vec<(K, V)>, JoinError> {
        self.collect::<Ascending>(KeyRange::of::<K>(&range), limit)
    }

    /// Returns up to `limit` entries of a range of keys, the greatest keys first.
    ///
    /// As leaves have no left links, it descends from the topmost node for each leaf.
    pub fn scan_range_rev<'k>(
        &self,
        range: impl RangeBounds<K::Arg<'k>>,
        limit: usize,
    ) -> Result<Vec<(K, V)>, JoinError> {
        self.collect::<Descending>(KeyRange::of::<K>(&range), limit)
    }

    fn collect<O: Order>(&self, range: KeyRange<K::Keys>, limit: usize) -> Result<Vec<(K, V)>, JoinError> {
        if self.caller.reads_in_place() {
            return self.caller.read(|reader| self.tree.collect_in_place::<O>(reader, range, limit));
        }
        self.caller.run(|rt, promise| {
            self.tree.collect::<O, _, _>(rt, range, limit, |entries, _| promise.fulfil(entries));
        })
    }

    /// Returns the entries of some leaves, in this order, and the keys that are left.
    pub(super) fn collect_leaves<O: Order>(
        &self,
        range: KeyRange<K::Keys>,
        leaves: usize,
    ) -> Result<LeafEntries<K, V>, JoinError> {
        if self.caller.reads_in_place() {
            return self.caller.read(|reader| self.tree.collect_leaves_in_place::<O>(reader, range, leaves));
        }
        self.caller.run(|rt, promise| {
            self.tree.collect_leaves::<O, _, _>(rt, range, leaves, |found, _| promise.fulfil(found));
        })
    }

    /// Counts the entries; see [`Tree::count`](crate::Tree::count).
    pub fn count(&self) -> Result<u64, JoinError> {
        self.count_range(..)
    }

    /// Counts the entries of a range of keys; see [`Tree::count`](crate::Tree::count).
    pub fn count_range<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> Result<u64, JoinError> {
        let range = KeyRange::of::<K>(&range);
        if self.caller.reads_in_place() {
            return self.caller.read(|reader| self.tree.count_in_place(reader, range));
        }
        self.caller.run(|rt, promise| self.tree.count_words(rt, range, |count, _| promise.fulfil(count)))
    }

    /// Returns the entry with the least key; `None` if the tree is empty.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_index::Tree;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Tree::<u64, char>::new(&rt);
    /// let client = tree.client(&rt);
    /// assert_eq!(client.first_key_value()?, None);
    /// client.insert_many(&[(10, 'a'), (20, 'b'), (30, 'c')])?;
    /// assert_eq!(client.first_key_value()?, Some((10, 'a')));
    /// assert_eq!(client.last_key_value()?, Some((30, 'c')));
    /// assert_eq!(client.floor(25)?, Some((20, 'b')));
    /// assert_eq!(client.ceiling(25)?, Some((30, 'c')));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first_key_value(&self) -> Result<Option<(K, V)>, JoinError> {
        self.first_of::<Ascending>(KeyRange::all())
    }

    /// Returns the entry with the greatest key; `None` if the tree is empty.
    pub fn last_key_value(&self) -> Result<Option<(K, V)>, JoinError> {
        self.first_of::<Descending>(KeyRange::all())
    }

    /// Returns the entry with the greatest key that is not above `key`.
    pub fn floor(&self, key: K::Arg<'_>) -> Result<Option<(K, V)>, JoinError> {
        self.first_of::<Descending>(KeyRange::of::<K>(&(..=key)))
    }

    /// Returns the entry with the least key that is not below `key`.
    pub fn ceiling(&self, key: K::Arg<'_>) -> Result<Option<(K, V)>, JoinError> {
        self.first_of::<Ascending>(KeyRange::of::<K>(&(key..)))
    }

    fn first_of<O: Order>(&self, range: KeyRange<K::Keys>) -> Result<Option<(K, V)>, JoinError> {
        if self.caller.reads_in_place() {
            return self.caller.read(|reader| self.tree.first_in_place::<O>(reader, range));
        }
        self.caller
            .run(|rt, promise| self.tree.first_of::<O, _, _>(rt, range, |found, _| promise.fulfil(found)))
    }

    /// Returns the entries of a range of keys as they are at one moment during the call, in order.
    ///
    /// Where the calling thread reads by itself and the tree's primitive is optimistic, as the
    /// default is, it first reads the leaves beside their writers, however many there are, and
    /// checks that none has changed. This takes little more than a scan, and holds no writer up. If
    /// writers interfere in each of 16 attempts, or in other trees, a task holds the leaves, up to
    /// 1024 of them: see [`Tree::snapshot`](crate::Tree::snapshot). So a small range can always be
    /// read. A large range can only if it is not written all the time.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_index::Tree;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Tree::<u64, i64>::new(&rt);
    /// let client = tree.client(&rt);
    /// client.insert_many(&[(1, 100), (2, -40), (3, -60)])?;
    /// // If other threads move amounts, the sum of a scan could be of different moments.
    /// let balance: i64 = client.snapshot(1..=3)?.iter().map(|entry| entry.1).sum();
    /// assert_eq!(balance, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TooManyLeaves`](SnapshotError::TooManyLeaves) if the range is too large, and errors of
    /// reads; see [`Client`].
    pub fn snapshot<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> Result<Vec<(K, V)>, SnapshotError> {
        let range = KeyRange::of::<K>(&range);
        if self.caller.reads_in_place()
            && let Some(entries) =
                self.caller.read(|reader| self.tree.snapshot_in_place(reader, range.clone()))?
        {
            return Ok(entries);
        }
        self.caller
            .run(|rt, promise| self.tree.snapshot_words(rt, range, |found, _| promise.fulfil(found)))?
    }
}
