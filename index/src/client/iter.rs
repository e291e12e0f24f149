//! An iterator over entries.

use super::Client;
use crate::key_value::Key;
use crate::node::Layout;
use crate::tree::{Ascending, Descending, KeyRange, Order};
use crate::value::Value;
use core::fmt;
use core::iter::FusedIterator;
use core::ops::RangeBounds;
use std::vec;
use xtasking::JoinError;

/// The most leaves that are read at a time. The first read is of one leaf, as many iterations are
/// short, and each further one of twice as many.
const MAX_LEAVES: usize = 8;

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Client<'_, K, V, L> {
    /// Returns an iterator over all entries; see [`range`](Self::range).
    pub fn iter(&self) -> Range<'_, K, V, L> {
        self.range(..)
    }

    /// Returns an iterator over the entries of a range of keys, in order and from both ends.
    ///
    /// It reads a few leaves at a time (up to 8) and keeps their entries. Between two reads it
    /// holds nothing: neither does it delay a writer, nor does a long iteration keep removed nodes
    /// from being freed. Each leaf is read atomically.
    ///
    /// Keys come in strict order, each at most once. A key that is there during the whole iteration
    /// comes exactly once. A key that is added or removed meanwhile may or may not come. A value is
    /// one that the key had since the iteration began.
    ///
    /// A range that ends before it begins has no entries.
    ///
    /// # Errors
    ///
    /// An item is an error where a read failed; see [`Client`]. The iteration ends with it.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_index::Tree;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Tree::<u64, u64>::new(&rt);
    /// let client = tree.client(&rt);
    /// let entries: Vec<_> = (0..1000).map(|key| (key, key * key)).collect();
    /// client.insert_many(&entries)?;
    ///
    /// let squares: Vec<_> = client.range(10..=12).collect::<Result<_, _>>()?;
    /// assert_eq!(squares, [(10, 100), (11, 121), (12, 144)]);
    /// for entry in client.range(..500).rev() {
    ///     let (key, _) = entry?;
    ///     // An iteration delays no change, not even one of its own thread.
    ///     client.remove(key)?;
    /// }
    /// assert!(matches!(client.iter().next(), Some(Ok((500, 250_000)))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<'k>(&self, range: impl RangeBounds<K::Arg<'k>>) -> Range<'_, K, V, L> {
        Range {
            client: self,
            unread: Some(KeyRange::of::<K>(&range)),
            front: Vec::new().into_iter(),
            back: Vec::new().into_iter(),
            leaves: 1,
        }
    }
}

/// An iterator over the entries of a range of keys; made by [`Client::range`].
#[must_use = "iterators do nothing unless they are consumed"]
pub struct Range<'c, K: Key, V, L: Layout = <K as Key>::Node> {
    client: &'c Client<'c, K, V, L>,
    /// The keys whose leaves were not read yet.
    unread: Option<KeyRange<K::Keys>>,
    /// Entries before the unread ones, in ascending order.
    front: vec::IntoIter<(K, V)>,
    /// Entries behind the unread ones, in descending order.
    back: vec::IntoIter<(K, V)>,
    /// The leaves of the next read.
    leaves: usize,
}

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Range<'_, K, V, L> {
    /// Reads the next leaves in this order. A failure ends the iteration.
    fn read<O: Order>(&mut self, unread: KeyRange<K::Keys>) -> Result<vec::IntoIter<(K, V)>, JoinError> {
        let read = self.client.collect_leaves::<O>(unread, self.leaves);
        self.leaves = MAX_LEAVES.min(self.leaves * 2);
        match read {
            Ok((entries, rest)) => {
                self.unread = rest;
                Ok(entries.into_iter())
            }
            Err(error) => {
                self.front = Vec::new().into_iter();
                self.back = Vec::new().into_iter();
                Err(error)
            }
        }
    }
}

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Iterator for Range<'_, K, V, L> {
    type Item = Result<(K, V), JoinError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.front.next() {
                return Some(Ok(entry));
            }
            let Some(unread) = self.unread.take() else { return self.back.next_back().map(Ok) };
            match self.read::<Ascending>(unread) {
                Ok(entries) => self.front = entries,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let read = self.front.len() + self.back.len();
        // If not even the unread part can be read, its entries are replaced by one error.
        if self.unread.is_some() { (0, None) } else { (read, Some(read)) }
    }
}

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> DoubleEndedIterator for Range<'_, K, V, L> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.back.next() {
                return Some(Ok(entry));
            }
            let Some(unread) = self.unread.take() else { return self.front.next_back().map(Ok) };
            match self.read::<Descending>(unread) {
                Ok(entries) => self.back = entries,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> FusedIterator for Range<'_, K, V, L> {}

impl<K: Key, V, L: Layout> fmt::Debug for Range<'_, K, V, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").field("unread", &self.unread).finish_non_exhaustive()
    }
}

impl<'c, K: Key, V: Value, L: Layout<Keys = K::Keys>> IntoIterator for &'c Client<'_, K, V, L> {
    type Item = Result<(K, V), JoinError>;
    type IntoIter = Range<'c, K, V, L>;

    fn into_iter(self) -> Range<'c, K, V, L> {
        self.iter()
    }
}
