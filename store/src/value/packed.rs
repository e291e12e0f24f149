//! A sequence of byte strings in one buffer, as Redis' listpack.
//!
//! An entry is its length as a varint, its bytes, and the length again with the varint's bytes in
//! reverse, so that the sequence can be read from either end. Two bytes beyond the data for
//! entries of up to 127 bytes.

/// A sequence of byte strings in one buffer. Positions are found by walking from the nearer end.
#[derive(Clone, Default, Debug)]
pub struct PackedList {
    bytes: Vec<u8>,
    /// Bytes before the first entry that are not used, so that the front grows and shrinks as
    /// cheaply as the back.
    start: usize,
    len: usize,
}

impl PackedList {
    /// Returns how many bytes it points to.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

/// Bytes of the length `len` as a varint.
const fn varint_len(len: usize) -> usize {
    match len {
        0..=0x7f => 1,
        0x80..=0x3fff => 2,
        0x4000..=0x1f_ffff => 3,
        0x20_0000..=0x0fff_ffff => 4,
        _ => 5,
    }
}

/// Bytes that an entry of `len` bytes takes in a [`PackedList`].
pub const fn entry_len(len: usize) -> usize {
    len + 2 * varint_len(len)
}

/// Writes the varint of `len`, and returns it with its number of bytes.
const fn varint(mut len: usize) -> ([u8; 5], usize) {
    let mut bytes = [0; 5];
    let mut at = 0;
    while len >= 0x80 {
        bytes[at] = len as u8 & 0x7f | 0x80;
        len >>= 7;
        at += 1;
    }
    bytes[at] = len as u8;
    (bytes, at + 1)
}

/// Reads a varint from bytes in the order that an iterator gives.
fn read_varint<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    let mut len = 0;
    for (at, byte) in bytes.enumerate() {
        len |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    len
}

impl PackedList {
    /// Makes an empty sequence.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), start: 0, len: 0 }
    }

    /// Returns the number of entries.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no entry.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes that the entries take.
    pub const fn byte_len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Appends an entry.
    pub fn push_back(&mut self, data: &[u8]) {
        let (varint, width) = varint(data.len());
        self.reserve(entry_len(data.len()));
        self.bytes.extend_from_slice(&varint[..width]);
        self.bytes.extend_from_slice(data);
        self.bytes.extend(varint[..width].iter().rev());
        self.len += 1;
    }

    /// Puts an entry before the others.
    pub fn push_front(&mut self, data: &[u8]) {
        let new = entry_len(data.len());
        if self.start < new {
            self.widen_gap(new);
        }
        self.start -= new;
        write_entry(&mut self.bytes[self.start..self.start + new], data);
        self.len += 1;
    }

    /// Inserts an entry before the one at `index`, or at the end if `index` is the length.
    ///
    /// # Panics
    ///
    /// If `index` is larger than the length.
    pub fn insert(&mut self, index: usize, data: &[u8]) {
        assert!(index <= self.len, "the index is within the sequence");
        if index == 0 {
            return self.push_front(data);
        }
        let offset = self.offset(index);
        self.splice(offset, 0, data);
        self.len += 1;
    }

    /// Replaces the entry at `index`.
    ///
    /// # Panics
    ///
    /// If there is no entry at `index`.
    pub fn replace(&mut self, index: usize, data: &[u8]) {
        assert!(index < self.len, "the index is within the sequence");
        let offset = self.offset(index);
        let old = entry_len(self.entry_at(offset).len());
        self.splice(offset, old, data);
    }

    /// Removes `count` entries from `index` on.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn remove(&mut self, index: usize, count: usize) {
        assert!(index + count <= self.len, "the range is within the sequence");
        let start = self.offset(index);
        let end = if count == 1 {
            start + entry_len(self.entry_at(start).len())
        } else {
            self.offset(index + count)
        };
        self.len -= count;
        if index == 0 {
            self.start += end;
        } else {
            self.bytes.drain(self.start + start..self.start + end);
        }
        if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.shrink();
    }

    /// Returns the entry at `index`.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        (index < self.len).then(|| self.entry_at(self.offset(index)))
    }

    /// Cuts off the entries from `index` on, and returns them.
    ///
    /// # Panics
    ///
    /// If `index` is larger than the length.
    pub fn split_off(&mut self, index: usize) -> Self {
        assert!(index <= self.len, "the index is within the sequence");
        let offset = self.offset(index);
        let bytes = self.bytes.split_off(self.start + offset);
        let rest = Self { bytes, start: 0, len: self.len - index };
        self.len = index;
        self.shrink();
        rest
    }

    /// Appends the entries of `other`.
    pub fn append(&mut self, other: &Self) {
        self.bytes.extend_from_slice(other.data());
        self.len += other.len;
    }

    /// Iterates over the entries from either end.
    pub fn iter(&self) -> Iter<'_> {
        Iter { bytes: self.data(), left: self.len }
    }

    /// Iterates over the entries from `index` on.
    pub fn iter_from(&self, index: usize) -> Iter<'_> {
        let index = index.min(self.len);
        Iter { bytes: &self.data()[self.offset(index)..], left: self.len - index }
    }

    /// Iterates over the entries of a range, clamped to the sequence.
    pub fn iter_range(&self, range: std::ops::Range<usize>) -> Iter<'_> {
        let end = range.end.min(self.len);
        let start = range.start.min(end);
        Iter { bytes: &self.data()[self.offset(start)..self.offset(end)], left: end - start }
    }

    /// Returns the bytes of the entries.
    fn data(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Returns the offset of the entry at `index`, or of the end.
    fn offset(&self, index: usize) -> usize {
        if index <= self.len / 2 {
            let mut entries = self.iter();
            (0..index).for_each(|_| entries.skip_front());
            self.byte_len() - entries.bytes.len()
        } else {
            let mut entries = self.iter();
            (index..self.len).for_each(|_| entries.skip_back());
            entries.bytes.len()
        }
    }

    /// Returns the entry that begins at `offset`.
    fn entry_at(&self, offset: usize) -> &[u8] {
        Iter { bytes: &self.data()[offset..], left: 1 }.next().unwrap_or_default()
    }

    /// Makes room for more bytes. The buffer grows by a quarter, as most sequences stay small.
    fn reserve(&mut self, additional: usize) {
        if self.bytes.capacity() - self.bytes.len() < additional {
            self.bytes.reserve_exact(additional.max(self.bytes.len() / 4));
        }
    }

    /// Gives memory back if little of it is used.
    fn shrink(&mut self) {
        if self.bytes.len() < self.bytes.capacity() / 4 {
            self.bytes.shrink_to(self.bytes.len() * 2);
        }
    }

    /// Makes the gap before the entries at least `least` bytes wide, and a quarter of them.
    fn widen_gap(&mut self, least: usize) {
        let gap = least.max(self.byte_len() / 4);
        let (end, shift) = (self.bytes.len(), gap - self.start);
        self.reserve(shift);
        self.bytes.resize(end + shift, 0);
        self.bytes.copy_within(self.start..end, gap);
        self.start = gap;
    }

    /// Replaces the `old` bytes at `offset` by an entry.
    fn splice(&mut self, offset: usize, old: usize, data: &[u8]) {
        let offset = self.start + offset;
        let new = entry_len(data.len());
        if new > old {
            let end = self.bytes.len();
            self.reserve(new - old);
            self.bytes.resize(end + new - old, 0);
            self.bytes.copy_within(offset + old..end, offset + new);
        } else {
            self.bytes.drain(offset + new..offset + old);
        }
        write_entry(&mut self.bytes[offset..offset + new], data);
        if new < old {
            self.shrink();
        }
    }
}

/// Writes an entry into bytes of its length.
fn write_entry(entry: &mut [u8], data: &[u8]) {
    let (varint, width) = varint(data.len());
    let end = entry.len() - width;
    entry[..width].copy_from_slice(&varint[..width]);
    entry[width..end].copy_from_slice(data);
    entry[end..].copy_from_slice(&varint[..width]);
    entry[end..].reverse();
}

impl<'a> FromIterator<&'a [u8]> for PackedList {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(entries: I) -> Self {
        let mut packed = Self::new();
        entries.into_iter().for_each(|entry| packed.push_back(entry));
        packed
    }
}

/// Iterates over the entries of a [`PackedList`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl Iter<'_> {
    fn skip_front(&mut self) {
        self.next();
    }

    fn skip_back(&mut self) {
        self.next_back();
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let len = read_varint(self.bytes.iter());
        let width = varint_len(len);
        let (entry, rest) = self.bytes.split_at(entry_len(len));
        self.bytes = rest;
        Some(&entry[width..width + len])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a> DoubleEndedIterator for Iter<'a> {
    fn next_back(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let len = read_varint(self.bytes.iter().rev());
        let width = varint_len(len);
        let (rest, entry) = self.bytes.split_at(self.bytes.len() - entry_len(len));
        self.bytes = rest;
        Some(&entry[width..width + len])
    }
}

impl ExactSizeIterator for Iter<'_> {}
