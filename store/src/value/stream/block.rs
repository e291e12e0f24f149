//! A block of entries: a listpack as Redis has it.
//!
//! | part | entries of the listpack |
//! |---|---|
//! | the head | entries that are live, entries that are deleted, number of names, the names, 0 |
//! | an entry with these names | flags, ID, the values, number of parts |
//! | an entry with others | flags, ID, number of pairs, names and values, number of parts |
//!
//! The ID is the difference to that of the block, in two parts. The number of parts, of those
//! before it, leads from the end of an entry to its start.

use super::StreamId;
use crate::value::listpack::{END, HEADER, MANY, Piece, decode, put_bytes, put_integer, start_of_last};

const DELETED: i64 = 1;
const SAME_NAMES: i64 = 2;
/// The flags, and the two parts of the ID.
const FIXED_PARTS: usize = 3;

/// Entries in one buffer, which is never without an entry. The ID of the block, which is that of
/// its first entry at first, lies beside it.
#[derive(Clone, Debug)]
pub(super) struct StreamBlock {
    bytes: Vec<u8>,
}

/// What a block says of itself.
#[derive(Clone, Copy, Debug)]
struct Head {
    live: usize,
    deleted: usize,
    /// The number of names.
    names: usize,
    /// Where they begin.
    names_at: usize,
}

/// An entry of a stream: an ID, and pairs of a field and a value.
#[derive(Clone, Copy, Debug)]
pub struct StreamEntry<'a> {
    /// The ID.
    pub id: StreamId,
    /// The number of pairs.
    len: usize,
    /// Where the names are, if those of the block; else they are before each value.
    names: Option<&'a [u8]>,
    values: &'a [u8],
    is_deleted: bool,
    /// Where it begins in its block.
    at: usize,
}

impl<'a> StreamEntry<'a> {
    /// Returns the number of its pairs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if it has no pairs, which only a file can bring about.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over the fields with their values.
    pub fn fields(&self) -> impl Iterator<Item = (Piece<'a>, Piece<'a>)> + use<'a> {
        let (mut names, mut values) = (self.names, self.values);
        (0..self.len).map_while(move |_| {
            let name = take(names.as_mut().unwrap_or(&mut values))?;
            Some((name, take(&mut values)?))
        })
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.is_deleted
    }
}

/// Takes an entry of a listpack off the front.
fn take<'a>(bytes: &mut &'a [u8]) -> Option<Piece<'a>> {
    let (piece, size) = decode(bytes)?;
    *bytes = &bytes[size..];
    Some(piece)
}

/// Takes an integer off the front.
fn take_integer(bytes: &mut &[u8]) -> Option<i64> {
    take(bytes)?.integer()
}

/// Takes a number of things off the front: each has a byte at least.
fn take_count(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_integer(bytes)?).ok().filter(|count| *count <= bytes.len())
}

impl StreamBlock {
    /// Makes a block whose entries mostly have these names.
    pub(super) fn new<'f>(names: impl ExactSizeIterator<Item = &'f [u8]>) -> Self {
        let mut bytes = vec![0; HEADER];
        let count = names.len();
        [0, 0, count as i64].into_iter().for_each(|number| put_integer(&mut bytes, number));
        names.for_each(|name| put_bytes(&mut bytes, name));
        put_integer(&mut bytes, 0);
        bytes.push(END);
        let mut block = Self { bytes };
        block.set_header(Some(4 + count));
        block
    }

    /// Returns the block of a listpack of a file; `None` if it is malformed.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let block = Self { bytes };
        let header: [u8; HEADER] = *block.bytes.first_chunk()?;
        let [size @ .., _, _] = header;
        let stated = u16::from_le_bytes([header[4], header[5]]);
        if u32::from_le_bytes(size) as usize != block.bytes.len() || block.bytes.last() != Some(&END) {
            return None;
        }
        let parts = block.count_parts()?;
        (stated == MANY || usize::from(stated) == parts).then_some(block)
    }

    /// Returns the number of entries of the listpack; `None` if they are no stream's.
    fn count_parts(&self) -> Option<usize> {
        let head = self.head()?;
        let mut rest = self.bytes.get(self.first_at()?..)?;
        let mut parts = 4 + head.names;
        let (mut live, mut deleted) = (0, 0);
        while rest != [END] {
            // Flags have one byte, which is changed in place.
            if rest.first().is_none_or(|flags| i64::from(*flags) > DELETED | SAME_NAMES) {
                return None;
            }
            let flags = take_integer(&mut rest)?;
            take_integer(&mut rest)?;
            take_integer(&mut rest)?;
            let own = if flags & SAME_NAMES != 0 {
                FIXED_PARTS + head.names
            } else {
                take_count(&mut rest)?.checked_mul(2)? + FIXED_PARTS + 1
            };
            let taken = FIXED_PARTS + usize::from(flags & SAME_NAMES == 0);
            for _ in taken..own {
                take(&mut rest)?;
            }
            if take_integer(&mut rest)? != own as i64 {
                return None;
            }
            parts += own + 1;
            *(if flags & DELETED != 0 { &mut deleted } else { &mut live }) += 1;
        }
        (live == head.live && deleted == head.deleted).then_some(parts)
    }

    /// Returns the block as a listpack.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns how many bytes it points to.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the number of entries that are not deleted.
    pub(super) fn live(&self) -> usize {
        self.head().map_or(0, |head| head.live)
    }

    fn head(&self) -> Option<Head> {
        let mut rest = self.bytes.get(HEADER..)?;
        let (live, deleted) = (take_integer(&mut rest)?, take_integer(&mut rest)?);
        let names = take_count(&mut rest)?;
        let names_at = self.bytes.len() - rest.len();
        let (live, deleted) = (usize::try_from(live).ok()?, usize::try_from(deleted).ok()?);
        Some(Head { live, deleted, names, names_at })
    }

    /// Returns where the first entry begins.
    fn first_at(&self) -> Option<usize> {
        let head = self.head()?;
        let mut rest = &self.bytes[head.names_at..];
        for _ in 0..head.names {
            take(&mut rest)?;
        }
        (take_integer(&mut rest)? == 0).then_some(self.bytes.len() - rest.len())
    }

    /// Returns true if there is room for an entry whose fields and values have this many bytes.
    pub(super) fn has_room(&self, bytes: usize, max_bytes: usize, max_entries: usize) -> bool {
        let count = self.head().map_or(0, |head| head.live + head.deleted);
        self.bytes.len() + bytes < max_bytes && (max_entries == 0 || count < max_entries)
    }

    /// Appends an entry to the block with the ID `first`.
    pub(super) fn append<'f>(
        &mut self,
        first: StreamId,
        id: StreamId,
        fields: impl ExactSizeIterator<Item = (&'f [u8], &'f [u8])> + Clone,
        bytes: usize,
    ) {
        let Some(head) = self.head() else { return };
        let mut rest = &self.bytes[head.names_at..];
        let is_same = head.names == fields.len()
            && (planted!("names-uncompared")
                || fields.clone().all(|(name, _)| take(&mut rest).is_some_and(|own| own.is(name))));
        let len = fields.len();
        self.reserve(bytes + 16 * len.min(4) + 32);
        self.bytes.pop();
        let flags = if is_same { SAME_NAMES } else { 0 };
        put_integer(&mut self.bytes, flags);
        put_integer(&mut self.bytes, id.ms.wrapping_sub(first.ms) as i64);
        put_integer(&mut self.bytes, id.seq.wrapping_sub(first.seq) as i64);
        if !is_same {
            put_integer(&mut self.bytes, len as i64);
        }
        for (name, value) in fields {
            if !is_same {
                put_bytes(&mut self.bytes, name);
            }
            put_bytes(&mut self.bytes, value);
        }
        let parts = FIXED_PARTS + if is_same { len } else { 2 * len + 1 };
        put_integer(&mut self.bytes, parts as i64);
        self.bytes.push(END);
        self.set_counts(head.live + 1, head.deleted);
        self.set_header(self.stated().map(|stated| stated + parts + 1));
    }

    /// Makes room for more bytes. The buffer grows by a half, as most blocks become full.
    fn reserve(&mut self, additional: usize) {
        if self.bytes.capacity() - self.bytes.len() < additional {
            self.bytes.reserve_exact(additional.max(self.bytes.len() / 2));
        }
    }

    /// Gives memory back that the block, which is full, does not need.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// Returns the number of entries of the listpack, if it is stated.
    fn stated(&self) -> Option<usize> {
        let stated = u16::from_le_bytes([self.bytes[4], self.bytes[5]]);
        (stated != MANY).then_some(stated.into())
    }

    fn set_header(&mut self, parts: Option<usize>) {
        let size = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[..4].copy_from_slice(&size.to_le_bytes());
        let parts = parts.and_then(|parts| u16::try_from(parts).ok()).unwrap_or(MANY);
        self.bytes[4..HEADER].copy_from_slice(&parts.to_le_bytes());
    }

    /// Sets the numbers of live and deleted entries, which may take more or fewer bytes then.
    fn set_counts(&mut self, live: usize, deleted: usize) {
        let mut rest = &self.bytes[HEADER..];
        take(&mut rest);
        take(&mut rest);
        let old = self.bytes.len() - rest.len();
        let mut counts = Vec::with_capacity(8);
        put_integer(&mut counts, live as i64);
        put_integer(&mut counts, deleted as i64);
        if counts.len() == old - HEADER {
            self.bytes[HEADER..old].copy_from_slice(&counts);
        } else {
            self.bytes.splice(HEADER..old, counts);
            self.set_header(self.stated());
        }
    }

    /// Marks live entries as deleted.
    pub(super) fn delete(&mut self, ats: &[usize]) {
        let Some(head) = self.head() else { return };
        ats.iter().for_each(|at| self.bytes[*at] |= DELETED as u8);
        self.set_counts(head.live.saturating_sub(ats.len()), head.deleted + ats.len());
    }

    /// Returns the entry that begins at `at`, and where it ends.
    fn entry(&self, first: StreamId, head: Head, at: usize) -> Option<(StreamEntry<'_>, usize)> {
        let mut rest = self.bytes.get(at..)?;
        let flags = take_integer(&mut rest)?;
        let ms = first.ms.wrapping_add(take_integer(&mut rest)? as u64);
        let seq = first.seq.wrapping_add(take_integer(&mut rest)? as u64);
        let is_same = flags & SAME_NAMES != 0;
        let len = if is_same { head.names } else { take_count(&mut rest)? };
        let values = rest;
        for _ in 0..if is_same { len } else { 2 * len } {
            take(&mut rest)?;
        }
        take(&mut rest)?;
        let entry = StreamEntry {
            id: StreamId { ms, seq },
            len,
            names: is_same.then(|| &self.bytes[head.names_at..]),
            values,
            is_deleted: flags & DELETED != 0,
            at,
        };
        Some((entry, self.bytes.len() - rest.len()))
    }

    /// Returns where the entry that ends at `end` begins; `None` before the first.
    fn start_of_entry(&self, end: usize) -> Option<usize> {
        let mut at = start_of_last(&self.bytes, end)?;
        let (parts, _) = decode(&self.bytes[at..])?;
        let parts = parts.integer().filter(|&parts| parts > 0)?;
        for _ in 0..parts {
            at = start_of_last(&self.bytes, at)?;
        }
        Some(at)
    }

    /// Iterates over the entries, the deleted ones too.
    pub(super) fn entries(&self, first: StreamId) -> impl Iterator<Item = StreamEntry<'_>> {
        let head = self.head();
        let mut at = self.first_at();
        std::iter::from_fn(move || {
            let (entry, end) = self.entry(first, head?, at?)?;
            at = Some(end);
            Some(entry)
        })
    }

    /// Iterates over the entries from the last to the first, the deleted ones too.
    pub(super) fn entries_back(&self, first: StreamId) -> impl Iterator<Item = StreamEntry<'_>> {
        let head = self.head();
        let mut end = self.bytes.len() - 1;
        std::iter::from_fn(move || {
            end = self.start_of_entry(end)?;
            self.entry(first, head?, end).map(|(entry, _)| entry)
        })
    }
}

impl StreamEntry<'_> {
    /// Returns where it begins in its block.
    pub(super) fn offset(&self) -> usize {
        self.at
    }
}
