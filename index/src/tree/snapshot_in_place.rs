//! Reading a range at one moment on the calling thread, beside writers.
//!
//! The thread reads the leaves of the range one after another, and keeps the version of each. Then
//! it checks all versions. If all are current, no leaf was written between the last read and the
//! first check. At this moment, which is the linearization point, each leaf was as it was read. Its
//! right link led to the next one, so that together they covered the range.
//!
//! If a leaf has changed, the thread keeps those before the first one that has, reads on from
//! there, and checks all again. This holds no writer up. But it fails if a leaf is written in each
//! attempt, which the more leaves there are the more likely becomes. Then a task
//! [holds](super::snapshot) the leaves.

use super::handle::Tree;
use super::key_range::KeyRange;
use super::links::decode_link;
use super::order::{Ascending, Order};
use super::range::decode;
use super::scan::read_leaf_of;
use crate::key_space::KeySpace;
use crate::key_value::Key;
use crate::node::Layout;
use crate::value::Value;
use xtasking::arena::{NodeVersion, Reader};
use xtasking::{JoinError, Primitive};

/// Attempts before a task holds the leaves.
const ATTEMPTS: usize = 16;

/// A leaf that was read.
struct LeafRead<'r, S: KeySpace> {
    /// The keys of the range from this leaf on.
    range: KeyRange<S>,
    /// The number of entries before it.
    entries_before: usize,
    version: NodeVersion<'r>,
}

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    /// Returns the entries of a range at one moment, or `None` if writers have interfered in each
    /// attempt, or if nodes have no versions.
    pub(crate) fn snapshot_in_place(
        &self,
        reader: &Reader<'_>,
        range: KeyRange<K::Keys>,
    ) -> Result<Option<Vec<(K, V)>>, JoinError> {
        if !matches!(self.primitive(), Primitive::OptimisticLatched | Primitive::OptimisticSequenced) {
            return Ok(None);
        }
        let (mut entries, mut leaves) = (Vec::new(), Vec::new());
        let mut unread = Some(range);
        for _ in 0..ATTEMPTS {
            unread = self.read_leaves(reader, unread, &mut entries, &mut leaves)?;
            let Some(changed) = leaves.iter().position(|leaf| !leaf.version.is_current()) else {
                if unread.is_none() {
                    return Ok(Some(entries));
                }
                continue;
            };
            entries.truncate(leaves[changed].entries_before);
            unread = leaves.drain(changed..).next().map(|leaf| leaf.range);
        }
        Ok(None)
    }

    /// Reads the leaves of the unread keys. Returns what is left if a writer interferes.
    fn read_leaves<'r>(
        &self,
        reader: &'r Reader<'_>,
        mut unread: Option<KeyRange<K::Keys>>,
        entries: &mut Vec<(K, V)>,
        leaves: &mut Vec<LeafRead<'r, K::Keys>>,
    ) -> Result<Option<KeyRange<K::Keys>>, JoinError> {
        let mut at = self.top();
        while let Some(range) = unread {
            let wanted = range.clone();
            let ((found, rest), version) = reader.walk_versioned(at, move |at, node: &L| {
                read_leaf_of::<Ascending, L, _>(at, node, &wanted, |leaf| {
                    let mut found = Vec::with_capacity(L::CAPACITY);
                    let rest = Ascending::read_leaf(leaf, &wanted, |key, value| {
                        found.push((K::Keys::to_owned(key), value));
                    });
                    (found, rest)
                })
            })?;
            let Some(version) = version else { return Ok(Some(range)) };
            leaves.push(LeafRead { range, entries_before: entries.len(), version });
            entries.extend(found.into_iter().map(|entry| decode(entry, reader)));
            let Some(rest) = rest else { return Ok(None) };
            at = decode_link(rest.link).unwrap_or_else(|| self.top());
            unread = Some(rest.range);
        }
        Ok(None)
    }
}
