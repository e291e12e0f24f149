//! A leaf of an order of keys: some keys, one after the other.
//!
//! The keys lie in the blocks of their entries, each a cache miss away. Neighbours mostly begin
//! alike, so a leaf knows how many bytes all its keys have in common, and keeps the four bytes
//! after those of each. A search compares the first key, then these, and then mostly one key more.

use super::block::SharedKey;
use std::cmp::Ordering;

/// The most keys of a leaf.
pub(super) const MAX_WIDTH: usize = ROOM - 1;
/// Its room, with that of the key with which it is split. All leaves but the only one have it: so
/// no key that is inserted moves a leaf, and leaves that come fit where others have gone.
const ROOM: usize = 64;

/// Keys in ascending order.
#[derive(Debug, Default)]
pub(super) struct KeyLeaf {
    /// All keys have at least this many bytes at their beginning in common.
    skip: usize,
    /// Of each key the bytes that follow, see [`head`].
    heads: Vec<u32>,
    keys: Vec<SharedKey>,
}

/// Returns the bytes after the first `skip`. Zeros stand for those that are missing.
pub(super) fn bytes_after<const N: usize>(key: &[u8], skip: usize) -> [u8; N] {
    let rest = key.get(skip..).unwrap_or_default();
    let mut bytes = [0; N];
    let len = rest.len().min(N);
    bytes[..len].copy_from_slice(&rest[..len]);
    bytes
}

/// Returns the four bytes after the first `skip`, as a number that is ordered as they are.
fn head(key: &[u8], skip: usize) -> u32 {
    u32::from_be_bytes(bytes_after(key, skip))
}

/// Returns how many bytes two keys have in common at their beginning.
pub(super) fn common_len(one: &[u8], two: &[u8]) -> usize {
    one.iter().zip(two).take_while(|(one, two)| one == two).count()
}

impl KeyLeaf {
    /// Makes a leaf of keys in ascending order. If it is `one_of_many`, it has room for more.
    pub(super) fn of_sorted(sorted: impl ExactSizeIterator<Item = SharedKey>, one_of_many: bool) -> Self {
        let room = if one_of_many { ROOM } else { sorted.len() };
        let (mut heads, mut keys) = (Vec::with_capacity(room), Vec::with_capacity(room));
        keys.extend(sorted);
        heads.resize(keys.len(), 0);
        // No key has as many bytes, so all heads are made.
        let mut leaf = Self { skip: usize::MAX, heads, keys };
        leaf.lengthen_skip();
        leaf
    }

    pub(super) fn keys(&self) -> &[SharedKey] {
        &self.keys
    }

    pub(super) fn into_keys(self) -> Vec<SharedKey> {
        self.keys
    }

    /// Returns the number of keys before this one, or up to it, if that `includes_key`.
    pub(super) fn count_before(&self, key: &[u8], includes_key: bool) -> usize {
        let Some(first) = self.keys.first() else { return 0 };
        let common = &first.get()[..self.skip];
        match key[..key.len().min(self.skip)].cmp(common) {
            Ordering::Less => return 0,
            Ordering::Greater => return self.keys.len(),
            Ordering::Equal => {}
        }
        let head = head(key, self.skip);
        let start = self.heads.partition_point(|other| *other < head);
        let end = start + self.heads[start..].partition_point(|other| *other == head);
        let is_before = |other: &SharedKey| other.get() < key || includes_key && other.get() == key;
        start + self.keys[start..end].partition_point(is_before)
    }

    /// Returns the position of a key that is there.
    fn find(&self, key: &[u8]) -> Option<usize> {
        let at = self.count_before(key, false);
        self.keys.get(at).is_some_and(|other| other.get() == key).then_some(at)
    }

    /// Inserts a key that is not there. Returns its position.
    pub(super) fn insert(&mut self, key: SharedKey) -> usize {
        let common = |first: &SharedKey| common_len(first.get(), key.get()).min(self.skip);
        self.set_skip(self.keys.first().map_or(key.get().len(), common));
        let at = self.count_before(key.get(), false);
        self.heads.insert(at, head(key.get(), self.skip));
        self.keys.insert(at, key);
        at
    }

    /// Takes another block for the same key. Returns false if the key is not there.
    pub(super) fn replace(&mut self, key: SharedKey) -> bool {
        let at = self.find(key.get());
        at.map(|at| self.keys[at] = key).is_some()
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Option<SharedKey> {
        let at = self.find(key)?;
        self.heads.remove(at);
        Some(self.keys.remove(at))
    }

    /// Cuts off the keys from a position on.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let (heads, keys) = (Vec::with_capacity(ROOM), Vec::with_capacity(ROOM));
        let mut right = Self { skip: self.skip, heads, keys };
        right.heads.extend(self.heads.drain(at..));
        right.keys.extend(self.keys.drain(at..));
        self.lengthen_skip();
        right.lengthen_skip();
        right
    }

    /// Appends the keys of a leaf that comes after this one.
    pub(super) fn append(&mut self, mut other: Self) {
        self.keys.append(&mut other.keys);
        self.heads.resize(self.keys.len(), 0);
        // No key has as many bytes, so all heads are made anew.
        self.skip = usize::MAX;
        self.lengthen_skip();
    }

    /// Lets the leaf know all that its keys have in common: the first and the last one tell.
    fn lengthen_skip(&mut self) {
        if let (Some(first), Some(last)) = (self.keys.first(), self.keys.last()) {
            self.set_skip(common_len(first.get(), last.get()));
        }
    }

    fn set_skip(&mut self, skip: usize) {
        if skip != self.skip {
            self.skip = skip;
            self.heads.iter_mut().zip(&self.keys).for_each(|(own, key)| *own = head(key.get(), skip));
        }
    }
}
