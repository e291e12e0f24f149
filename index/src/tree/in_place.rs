//! Operations that the calling thread runs itself, without a task, by a reader of the runtime.

use super::handle::Tree;
use super::key_range::KeyRange;
use super::order::{Ascending, Order};
use super::range::{LeafEntries, decode};
use super::sinks::first_entry;
use super::{lookup, scan, value_words};
use crate::key_space::KeySpace;
use crate::key_value::Key;
use crate::node::Layout;
use crate::value::Value;
use xtasking::JoinError;
use xtasking::arena::Reader;

/// Reserved for the entries of a scan. Most scans are short; the vector grows for a long one.
const RESERVED_ENTRIES: usize = 128;

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    /// Looks up `key`.
    #[inline]
    pub(crate) fn get_in_place(&self, reader: &Reader<'_>, key: K::Arg<'_>) -> Result<Option<V>, JoinError> {
        let found = lookup::get(reader, self.top(), K::carry(key))?;
        Ok(found.map(|word| value_words::copy(word, reader)))
    }

    /// Returns up to `limit` entries of a range, in this order.
    pub(crate) fn collect_in_place<O: Order>(
        &self,
        reader: &Reader<'_>,
        range: KeyRange<K::Keys>,
        limit: usize,
    ) -> Result<Vec<(K, V)>, JoinError> {
        let mut entries = Vec::with_capacity(limit.min(RESERVED_ENTRIES));
        let read_leaf = move |leaf: &L, range: &KeyRange<K::Keys>| {
            let mut found = Vec::with_capacity(limit.min(L::CAPACITY));
            let rest = O::read_leaf(leaf, range, |key, value| {
                if found.len() < limit {
                    found.push((K::Keys::to_owned(key), value));
                }
            });
            (found, rest)
        };
        scan::each_leaf::<O, _, _>(
            reader,
            || self.top(),
            range,
            read_leaf,
            |found| {
                let left = limit - entries.len();
                entries.extend(found.into_iter().take(left).map(|entry| decode(entry, reader)));
                entries.len() < limit
            },
        )?;
        Ok(entries)
    }

    /// Returns the entries of some leaves, in this order, and the keys that are left.
    pub(crate) fn collect_leaves_in_place<O: Order>(
        &self,
        reader: &Reader<'_>,
        range: KeyRange<K::Keys>,
        mut leaves: usize,
    ) -> Result<LeafEntries<K, V>, JoinError> {
        let mut entries = Vec::new();
        let read_leaf = |leaf: &L, range: &KeyRange<K::Keys>| {
            let mut found = Vec::with_capacity(L::CAPACITY);
            let rest = O::read_leaf(leaf, range, |key, value| found.push((K::Keys::to_owned(key), value)));
            (found, rest)
        };
        let rest = scan::each_leaf::<O, _, _>(
            reader,
            || self.top(),
            range,
            read_leaf,
            |found| {
                entries.extend(found.into_iter().map(|entry| decode(entry, reader)));
                leaves -= 1;
                leaves > 0
            },
        )?;
        Ok((entries, rest))
    }

    /// Counts the entries of a range.
    pub(crate) fn count_in_place(
        &self,
        reader: &Reader<'_>,
        range: KeyRange<K::Keys>,
    ) -> Result<u64, JoinError> {
        let mut count = 0;
        let read_leaf = |leaf: &L, range: &KeyRange<K::Keys>| {
            let mut here = 0;
            let rest = Ascending::read_leaf(leaf, range, |_, _| here += 1);
            (here, rest)
        };
        scan::each_leaf::<Ascending, _, _>(
            reader,
            || self.top(),
            range,
            read_leaf,
            |here: u64| {
                count += here;
                true
            },
        )?;
        Ok(count)
    }

    /// Returns the first entry of a range in this order.
    pub(crate) fn first_in_place<O: Order>(
        &self,
        reader: &Reader<'_>,
        range: KeyRange<K::Keys>,
    ) -> Result<Option<(K, V)>, JoinError> {
        let mut first = None;
        scan::each_leaf::<O, L, _>(
            reader,
            || self.top(),
            range,
            first_entry::<O, L>,
            |found| {
                first = found;
                first.is_none()
            },
        )?;
        Ok(first.map(|entry| decode(entry, reader)))
    }
}
