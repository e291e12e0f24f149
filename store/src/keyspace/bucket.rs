//! Buckets: the entries of a segment, a cache line of eight pointers each.

use super::Entry;
use xtasking::task::Lines;

/// The entries of a bucket.
const SLOTS: usize = 8;
/// Of how many entries a bucket has its share, so that lookups rarely go on to the next one.
const SHARE: usize = 7;

/// The buckets of a segment: a hash table with linear probing from bucket to bucket.
///
/// An entry's tag, 16 bits of its hash, says in which bucket it begins. If that is full, it is in
/// the next one that was not, and all between are full. So a lookup ends at a bucket with room.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    buckets: Vec<Bucket>,
    len: usize,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Bucket([Option<Entry>; SLOTS]);

/// Where an entry is.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryPlace {
    bucket: usize,
    slot: usize,
}

impl Bucket {
    fn free_slot(&self) -> Option<usize> {
        self.0.iter().position(Option::is_none)
    }

    fn is_full(&self) -> bool {
        self.0.iter().all(Option::is_some)
    }
}

impl Buckets {
    /// Makes room for this many entries.
    pub(super) fn with_room(entries: usize) -> Self {
        let mut buckets = Self::default();
        buckets.grow_to(entries.div_ceil(SHARE));
        buckets
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns true if one more entry needs more buckets.
    pub(super) fn are_full(&self) -> bool {
        self.len >= self.buckets.len() * SHARE
    }

    /// Adds about a quarter as many buckets, or more if there is no room for this many entries. The
    /// first bucket is alone: few entries have little room, whatever was expected.
    pub(super) fn grow(&mut self, least: usize) {
        let least = if self.len == 0 { 0 } else { least };
        let count = self.buckets.len() + self.buckets.len() / 4 + 1;
        self.grow_to(count.max(least.div_ceil(SHARE)));
    }

    fn grow_to(&mut self, count: usize) {
        let mut buckets = Vec::new();
        buckets.resize_with(count, Bucket::default);
        let old = std::mem::replace(self, Self { buckets, len: 0 });
        for entry in old.into_entries() {
            self.insert(entry);
        }
    }

    /// Returns the bucket in which entries of a tag begin.
    #[inline]
    fn home(&self, tag: u16) -> usize {
        (usize::from(tag) * self.buckets.len()) >> 16
    }

    fn after(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets.len() { 0 } else { bucket + 1 }
    }

    /// Finds the entry of a key with this tag.
    #[inline]
    pub(super) fn find(&self, tag: u16, key: &[u8]) -> Option<EntryPlace> {
        let mut bucket = self.home(tag);
        for _ in 0..self.buckets.len() {
            let mut is_full = true;
            for (slot, entry) in self.buckets[bucket].0.iter().enumerate() {
                match entry {
                    Some(entry) if entry.tag() == tag && entry.key() == key => {
                        return Some(EntryPlace { bucket, slot });
                    }
                    Some(_) => {}
                    None => is_full = false,
                }
            }
            if !is_full {
                return None;
            }
            bucket = self.after(bucket);
        }
        None
    }

    /// Returns the lines in which a lookup of this tag begins.
    pub(super) fn lines(&self, tag: u16) -> Lines {
        self.buckets.get(self.home(tag)).map(Lines::of).unwrap_or_default()
    }

    /// Returns the lines of an entry with this tag, where a lookup begins.
    pub(super) fn lines_of_entry(&self, tag: u16) -> Lines {
        let bucket = self.buckets.get(self.home(tag));
        let entry = bucket.and_then(|bucket| bucket.0.iter().flatten().find(|entry| entry.tag() == tag));
        entry.map(Entry::lines).unwrap_or_default()
    }

    /// Returns the entry at a place where one was found.
    #[inline]
    pub(super) fn at(&self, place: EntryPlace) -> Option<&Entry> {
        self.buckets[place.bucket].0[place.slot].as_ref()
    }

    #[inline]
    pub(super) fn at_mut(&mut self, place: EntryPlace) -> Option<&mut Entry> {
        self.buckets[place.bucket].0[place.slot].as_mut()
    }

    /// Inserts an entry, which has its tag.
    ///
    /// # Panics
    ///
    /// If there is no room.
    pub(super) fn insert(&mut self, entry: Entry) -> EntryPlace {
        let mut bucket = self.home(entry.tag());
        for _ in 0..self.buckets.len() {
            if let Some(slot) = self.buckets[bucket].free_slot() {
                self.buckets[bucket].0[slot] = Some(entry);
                self.len += 1;
                return EntryPlace { bucket, slot };
            }
            bucket = self.after(bucket);
        }
        unreachable!("the table grows before its buckets are full")
    }

    /// Removes the entry at a place. Others move up, so that none is behind a bucket with room.
    pub(super) fn remove(&mut self, place: EntryPlace) -> Option<Entry> {
        let mut hole = place;
        let was_full = self.buckets[hole.bucket].is_full();
        let removed = self.buckets[hole.bucket].0[hole.slot].take()?;
        self.len -= 1;
        let mut bucket = hole.bucket;
        let mut goes_on = was_full && !planted!("removed-entry-hides-others");
        while goes_on {
            bucket = self.after(bucket);
            if bucket == place.bucket {
                break;
            }
            goes_on = self.buckets[bucket].is_full();
            let passes_hole = |entry: &Option<Entry>| {
                entry.as_ref().is_some_and(|entry| {
                    let home = self.home(entry.tag());
                    self.distance(home, hole.bucket) < self.distance(home, bucket)
                })
            };
            if let Some(slot) = self.buckets[bucket].0.iter().position(passes_hole) {
                let moved = self.buckets[bucket].0[slot].take();
                self.buckets[hole.bucket].0[hole.slot] = moved;
                hole = EntryPlace { bucket, slot };
            }
        }
        Some(removed)
    }

    /// Returns how many buckets a lookup that begins at `home` passes before `bucket`.
    fn distance(&self, home: usize, bucket: usize) -> usize {
        if bucket >= home { bucket - home } else { bucket + self.buckets.len() - home }
    }

    /// Iterates over all entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.buckets.iter().flat_map(|bucket| bucket.0.iter().flatten())
    }

    /// Iterates over all entries, whose memory is fetched together before: each is a cache miss.
    pub(super) fn iter_fetched(&self) -> impl Iterator<Item = &Entry> {
        self.iter().for_each(|entry| entry.lines().fetch());
        self.iter()
    }

    /// Iterates over all entries, from a bucket on and round to it.
    pub(super) fn iter_from(&self, random: usize) -> impl Iterator<Item = &Entry> {
        let first = random.checked_rem(self.buckets.len()).unwrap_or(0);
        let (before, after) = self.buckets.split_at(first);
        after.iter().chain(before).flat_map(|bucket| bucket.0.iter().flatten())
    }

    /// Takes all entries.
    pub(super) fn into_entries(self) -> impl Iterator<Item = Entry> {
        self.buckets.into_iter().flat_map(|bucket| bucket.0.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::Buckets;
    use crate::keyspace::Entry;
    use crate::value::{StringValue, Value};
    use proptest::prelude::*;

    fn entry(key: u8, tag: u16) -> Entry {
        let mut entry = Entry::new(&[key], Value::String(StringValue::Integer(key.into())), None, 0);
        entry.set_tag(tag);
        entry
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Few different tags, so that buckets overflow.
        #[test]
        fn entries_are_found_whatever_was_removed(
            tags in prop::collection::vec(prop::sample::select(vec![0, 1, 0x3fff, 0x8000, 0xffff]), 256),
            keys in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut buckets = Buckets::default();
            let mut there = std::collections::BTreeSet::new();
            for key in keys {
                let tag = tags[usize::from(key)];
                match buckets.find(tag, &[key]) {
                    Some(place) => {
                        prop_assert!(there.remove(&key));
                        let removed = buckets.remove(place);
                        prop_assert_eq!(removed.map(|entry| entry.key().to_vec()), Some(vec![key]));
                    }
                    None => {
                        prop_assert!(there.insert(key));
                        if buckets.are_full() {
                            buckets.grow(0);
                        }
                        buckets.insert(entry(key, tag));
                    }
                }
                for &key in &there {
                    let place = buckets.find(tags[usize::from(key)], &[key]);
                    prop_assert!(place.is_some_and(|place| buckets.at(place).unwrap().key() == [key]));
                }
                prop_assert_eq!(buckets.len(), there.len());
            }
        }
    }
}
