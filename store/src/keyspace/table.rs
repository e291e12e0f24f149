//! The entries of one database in one shard: an extendible hash table.
//!
//! It consists of segments of up to [`MOST_ENTRIES`] entries. A full segment is split alone, so no
//! insertion rehashes a large table. Segments are in the order of bits 8 to 39 of the hash, the
//! *order* of an entry; a scan follows it, and the order does not change when the table grows. A
//! segment grows by small steps before it is split, so that little of its memory is free.

use super::bucket::Buckets;
use super::order::{BYTES_PER_KEY, KeyOrder};
use super::{Entry, Garbage};
use std::num::NonZero;
use xtasking::task::Lines;

/// The entries of a segment; then it is split.
pub(super) const MOST_ENTRIES: usize = 112;
/// A directory has at most 2 to the power of this many places; segments then grow instead.
const MOST_DEPTH: u8 = 24;
/// The most segments that are made beforehand, by a hint that may be wrong.
const MOST_PREPARED: usize = 1 << 12;

/// Entries by key.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// For each prefix of `depth` bits of the order, the index of its segment. Empty at first.
    directory: Vec<u32>,
    depth: u8,
    pub(super) segments: Vec<Segment>,
    len: usize,
    expiring: usize,
    /// A version, and the number of segments of which its snapshot has been told.
    visited: (u32, u32),
    /// A version, and the database to which the table belonged when it began.
    origin: (u32, u32),
    /// The order of the keys, if the database has one.
    pub(super) order: Option<Box<KeyOrder>>,
    /// The entries that a segment without buckets will probably have.
    share: usize,
}

#[derive(Debug)]
pub(super) struct Segment {
    /// That of the last task that has changed it, see [`Versions`](super::Versions).
    version: u32,
    /// The bits of the order that all entries here have in common.
    depth: u8,
    /// The entries that have an expiry.
    pub(super) expiring: u32,
    pub(super) entries: Buckets,
}

/// The order of an entry with this hash.
fn order(hash: u64) -> u32 {
    (hash >> 8) as u32
}

/// The bits of a hash that are in neither the order nor the number of the shard.
fn tag(hash: u64) -> u16 {
    hash.rotate_left(8) as u16
}

/// The first `depth` bits of an order.
fn prefix(order: u32, depth: u8) -> usize {
    (u64::from(order) >> (32 - depth)) as usize
}

/// Lets the order have the block of an entry, if that is no longer `before`. The order shares the
/// old block, so that no other one has its address.
#[inline]
fn renew_in_order(order: Option<&mut KeyOrder>, entry: &Entry, before: NonZero<usize>) {
    if let Some(order) = order
        && entry.address() != before
        && let Some(renewed) = entry.share_key()
        && !planted!("order-keeps-old-block")
    {
        order.replace(renewed);
    }
}

impl Table {
    /// Returns the number of entries, expired ones included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of entries that have an expiry.
    pub(crate) fn expiring(&self) -> usize {
        self.expiring
    }

    #[inline]
    fn segment(&self, hash: u64) -> Option<&Segment> {
        let at = *self.directory.get(prefix(order(hash), self.depth))?;
        Some(&self.segments[at as usize])
    }

    #[inline]
    fn segment_mut(&mut self, hash: u64) -> Option<&mut Segment> {
        let at = *self.directory.get(prefix(order(hash), self.depth))?;
        Some(&mut self.segments[at as usize])
    }

    /// Finds the entry of a key.
    #[inline]
    pub(crate) fn find(&self, hash: u64, key: &[u8]) -> Option<&Entry> {
        let entries = &self.segment(hash)?.entries;
        entries.at(entries.find(tag(hash), key)?)
    }

    /// Changes the entry of a key. Its block may be another one then.
    #[inline]
    pub(crate) fn change<R>(
        &mut self,
        hash: u64,
        key: &[u8],
        change: impl FnOnce(&mut Entry) -> R,
    ) -> Option<R> {
        let (order, entry) = self.find_with_order(hash, key)?;
        let block = entry.address();
        let changed = change(entry);
        renew_in_order(order, entry, block);
        Some(changed)
    }

    /// Finds the entry of a key, whose value is to be changed in place. If it gets another block
    /// for that, and the old one takes long to free, that is added to the garbage.
    #[inline]
    pub(crate) fn find_changeable(
        &mut self,
        hash: u64,
        key: &[u8],
        garbage: &mut Vec<Garbage>,
    ) -> Option<&mut Entry> {
        let (order, entry) = self.find_with_order(hash, key)?;
        let block = entry.address();
        // This block stays from then on.
        if let Some(replaced) = entry.make_changeable() {
            garbage.push(Garbage::Entry(replaced));
        }
        renew_in_order(order, entry, block);
        Some(entry)
    }

    #[inline]
    fn find_with_order(&mut self, hash: u64, key: &[u8]) -> Option<(Option<&mut KeyOrder>, &mut Entry)> {
        let at = *self.directory.get(prefix(order(hash), self.depth))?;
        let entries = &mut self.segments[at as usize].entries;
        let entry = entries.at_mut(entries.find(tag(hash), key)?)?;
        Some((self.order.as_deref_mut(), entry))
    }

    /// Returns the order of the keys, if there is one.
    pub(super) fn order(&self) -> Option<&KeyOrder> {
        self.order.as_deref()
    }

    /// Makes the order of the keys, or drops it.
    pub(super) fn set_ordered(&mut self, is_ordered: bool) {
        if is_ordered == self.order.is_some() {
            return;
        }
        let keys = || self.iter().filter_map(Entry::share_key).collect();
        self.order = is_ordered.then(|| Box::new(KeyOrder::of(keys())));
    }

    /// Takes all that is there. The empty table has an order if this one had.
    pub(super) fn take(&mut self) -> Self {
        let order = self.order.is_some().then(Box::default);
        std::mem::replace(self, Self { order, ..Self::default() })
    }

    /// Returns how many bytes each key takes besides those of its entry.
    #[inline]
    pub(super) fn bytes_of_place(&self) -> usize {
        if self.order.is_some() { BYTES_PER_KEY } else { 0 }
    }

    /// Returns how many bytes all keys take.
    pub(super) fn bytes(&self) -> usize {
        self.iter().map(Entry::bytes).sum::<usize>() + self.len * self.bytes_of_place()
    }

    /// Returns the lines in which a lookup of this hash begins.
    pub(crate) fn lines(&self, hash: u64) -> Lines {
        self.segment(hash).map(|segment| segment.entries.lines(tag(hash))).unwrap_or_default()
    }

    /// Returns the lines of the entry that such a lookup probably finds.
    pub(crate) fn lines_of_entry(&self, hash: u64) -> Lines {
        self.segment(hash).map(|segment| segment.entries.lines_of_entry(tag(hash))).unwrap_or_default()
    }

    /// Sets or removes the expiry of an entry. Returns false if there is none of this key. A block
    /// that takes long to free is added to the garbage.
    pub(crate) fn set_expiry(
        &mut self,
        hash: u64,
        key: &[u8],
        expires_at: Option<u64>,
        garbage: &mut Vec<Garbage>,
    ) -> bool {
        let Some(&at) = self.directory.get(prefix(order(hash), self.depth)) else { return false };
        let segment = &mut self.segments[at as usize];
        let place = segment.entries.find(tag(hash), key);
        let Some(entry) = place.and_then(|place| segment.entries.at_mut(place)) else { return false };
        let (had_one, block) = (entry.expires_at().is_some(), entry.address());
        garbage.extend(entry.set_expires_at(expires_at).map(Garbage::Entry));
        renew_in_order(self.order.as_deref_mut(), entry, block);
        let has_one = expires_at.is_some();
        segment.expiring = segment.expiring - u32::from(had_one) + u32::from(has_one);
        self.expiring = self.expiring - usize::from(had_one) + usize::from(has_one);
        true
    }

    /// Returns true if the segment of this hash is of a version, or there is none.
    #[inline]
    pub(crate) fn is_of(&self, hash: u64, version: u32) -> bool {
        self.segment(hash).is_none_or(|segment| segment.version == version)
    }

    /// Makes the segment of this hash one of a version. If it was of another one, returns its
    /// entries.
    pub(crate) fn advance(&mut self, hash: u64, version: u32) -> Option<impl Iterator<Item = &Entry>> {
        let segment = self.segment_mut(hash).filter(|segment| segment.version != version)?;
        segment.version = version;
        Some(segment.entries.iter_fetched())
    }

    /// Makes the next segment of another version one of this version, and returns its entries.
    pub(crate) fn next_unsaved(&mut self, version: u32) -> Option<impl Iterator<Item = &Entry>> {
        if self.visited.0 != version {
            self.visited = (version, 0);
        }
        // Segments that come later are parts of others of this version.
        let first = self.visited.1 as usize;
        let rest = self.segments.get(first..)?;
        let skips = usize::from(planted!("unsaved-segment-skipped"));
        let found = rest.iter().skip(skips).position(|segment| segment.version != version)? + skips;
        // There are at most 2 to the 24th segments.
        self.visited.1 = (first + found + 1) as u32;
        let segment = &mut self.segments[first + found];
        segment.version = version;
        Some(segment.entries.iter_fetched())
    }

    /// Returns true if there is a segment of another version.
    pub(crate) fn has_unsaved(&self, version: u32) -> bool {
        self.segments.iter().any(|segment| segment.version != version)
    }

    /// Returns the database to which the table belonged when a version began. It belongs to
    /// `database` now.
    pub(crate) fn origin(&self, version: u32, database: usize) -> usize {
        if self.origin.0 == version { self.origin.1 as usize } else { database }
    }

    /// Notes to which database the table belonged when a version began. It is to go to another one.
    pub(crate) fn note_origin(&mut self, version: u32, database: usize) {
        self.origin = (version, self.origin(version, database) as u32);
    }

    /// Makes the segments, without buckets, for about this many entries, unless there are some.
    pub(crate) fn prepare(&mut self, entries: usize, version: u32) {
        if !self.directory.is_empty() || entries == 0 {
            return;
        }
        let segments = entries.div_ceil(MOST_ENTRIES).min(MOST_PREPARED).next_power_of_two();
        self.depth = segments.ilog2() as u8;
        self.directory = (0..segments as u32).collect();
        let depth = self.depth;
        let empty = |_| Segment { version, depth, expiring: 0, entries: Buckets::default() };
        self.segments = (0..segments).map(empty).collect();
        self.share = (entries / segments).min(MOST_ENTRIES);
    }

    /// Inserts an entry whose key is not there, into a segment of this version.
    pub(crate) fn insert(
        &mut self,
        hash: u64,
        mut entry: Entry,
        version: u32,
        hasher: impl Fn(&[u8]) -> u64,
    ) -> &mut Entry {
        self.len += 1;
        let expires = entry.expires_at().is_some();
        self.expiring += usize::from(expires);
        entry.set_tag(tag(hash));
        if let Some(order) = &mut self.order {
            order.insert(entry.share_key().expect("an entry is in one table"));
        }
        if self.directory.is_empty() {
            self.directory.push(0);
            self.segments.push(Segment { version, depth: 0, expiring: 0, entries: Buckets::default() });
        }
        let at = loop {
            let at = self.directory[prefix(order(hash), self.depth)] as usize;
            let segment = &mut self.segments[at];
            if !segment.entries.are_full() {
                break at;
            }
            if segment.entries.len() < MOST_ENTRIES || segment.depth == MOST_DEPTH {
                segment.entries.grow(self.share);
                break at;
            }
            self.split(at, order(hash), &hasher);
        };
        let Segment { entries, expiring, .. } = &mut self.segments[at];
        *expiring += u32::from(expires);
        let place = entries.insert(entry);
        entries.at_mut(place).expect("it was inserted there")
    }

    /// Splits a segment by the next bit of the order. `member` is the order of any key that belongs
    /// into it.
    fn split(&mut self, at: usize, member: u32, hasher: &impl Fn(&[u8]) -> u64) {
        let depth = self.segments[at].depth + 1;
        if depth > self.depth {
            self.directory = self.directory.iter().flat_map(|&segment| [segment, segment]).collect();
            self.depth = depth;
        }
        let version = if planted!("split-forgets-version") { u32::MAX } else { self.segments[at].version };
        let entries = std::mem::take(&mut self.segments[at].entries).into_entries();
        let bit = |entry: &Entry| prefix(order(hasher(entry.key())), depth) & 1 == 1;
        let (upper, lower): (Vec<Entry>, Vec<Entry>) = entries.partition(bit);
        let [lower, upper] = [lower, upper].map(|half| {
            let mut entries = Buckets::with_room(half.len() + 1);
            let expiring = half.iter().filter(|entry| entry.expires_at().is_some()).count() as u32;
            half.into_iter().for_each(|entry| _ = entries.insert(entry));
            Segment { version, depth, expiring, entries }
        });
        self.segments[at] = lower;
        let new = u32::try_from(self.segments.len()).expect("there are at most 2 to the 24th segments");
        self.segments.push(upper);
        // The places of the upper half: their prefixes begin with the member's, and a one.
        let width = self.depth - depth;
        let first = (prefix(member, depth) | 1) << width;
        if !planted!("split-unpublished") || width > 0 {
            self.directory[first..first + (1 << width)].fill(new);
        }
    }

    /// Removes the entry of a key.
    pub(crate) fn remove(&mut self, hash: u64, key: &[u8]) -> Option<Entry> {
        let Segment { entries, expiring, .. } = self.segment_mut(hash)?;
        let place = entries.find(tag(hash), key)?;
        let entry = entries.remove(place)?;
        let expires = entry.expires_at().is_some();
        *expiring -= u32::from(expires);
        self.len -= 1;
        self.expiring -= usize::from(expires);
        if let Some(order) = self.order.as_mut().filter(|_| !planted!("removed-key-stays-in-order")) {
            order.remove(key);
        }
        Some(entry)
    }

    /// Iterates over all entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.segments.iter().flat_map(|segment| segment.entries.iter())
    }

    /// Passes to `visit` the entries of whole segments from an order on, until at least `count`
    /// were passed. Returns the order from which to go on; `None` at the end.
    pub(crate) fn scan<'s>(
        &'s self,
        from: u32,
        count: usize,
        mut visit: impl FnMut(&'s Entry),
    ) -> Option<u32> {
        let (mut from, mut visited) = (from, 0);
        loop {
            let at = *self.directory.get(prefix(from, self.depth))?;
            let segment = &self.segments[at as usize];
            segment.entries.iter().for_each(&mut visit);
            visited += segment.entries.len();
            // The first order of the next segment.
            let next = (prefix(from, segment.depth) as u64 + 1) << (32 - segment.depth);
            from = u32::try_from(next).ok()?;
            if visited >= count {
                return Some(from);
            }
        }
    }
}
