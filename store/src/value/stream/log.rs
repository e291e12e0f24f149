//! The entries of a stream: blocks in the order of IDs, and what is known of all of them.

use super::block::{StreamBlock, StreamEntry};
use super::{StreamId, StreamState, one_more};
use crate::value::{CompactLimits, Removed};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The most bytes of a block, whatever the settings say, and of the fields of an entry.
const MOST_BYTES: usize = 1 << 30;

/// Why an entry cannot be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendError {
    /// Its ID is not after that of the last entry.
    NotAfterLast,
    /// Its fields and values have too many bytes.
    TooLarge,
}

/// Up to where a stream is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimBound {
    /// This many entries are left.
    Len(u64),
    /// Entries before this ID go.
    MinId(StreamId),
}

/// How a stream is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Up to where.
    pub bound: TrimBound,
    /// Whether only whole blocks go.
    pub is_approximate: bool,
    /// The most entries that go; any number if it is 0.
    pub limit: usize,
}

/// The entries of a stream.
#[derive(Debug, Default)]
pub struct EntryLog {
    blocks: BTreeMap<StreamId, StreamBlock>,
    len: usize,
    state: StreamState,
    /// What the blocks point to.
    bytes: usize,
}

impl Clone for EntryLog {
    /// Copies of blocks have no room for more entries, and so take less memory.
    fn clone(&self) -> Self {
        let blocks = self.blocks.clone();
        let bytes = blocks.values().map(StreamBlock::memory).sum();
        Self { blocks, bytes, ..*self }
    }
}

impl EntryLog {
    /// Makes the entries of a file: blocks as listpacks, each with its ID. `None` if they are
    /// malformed or out of order. The ID of a block is that of its first entry, and is after all
    /// entries before it. A deleted entry may be after later ones: XSETID goes back behind it.
    pub(crate) fn from_blocks(blocks: impl Iterator<Item = (StreamId, Vec<u8>)>) -> Option<Self> {
        let (mut log, mut last) = (Self::default(), None);
        for (id, bytes) in blocks {
            let block = StreamBlock::from_bytes(bytes)?;
            let before = log.blocks.last_key_value().map(|(before, _)| *before).max(last);
            if before.is_some_and(|before| id <= before)
                || block.entries(id).next().is_none_or(|first| first.id != id)
            {
                return None;
            }
            for entry in block.entries(id).filter(|entry| !entry.is_deleted()) {
                if entry.id < id || last.is_some_and(|last| entry.id <= last) {
                    return None;
                }
                last = Some(entry.id);
            }
            log.len += block.live();
            log.bytes += block.memory();
            log.blocks.insert(id, block);
        }
        Some(log)
    }

    /// Iterates over the blocks as listpacks, each with its ID.
    pub(crate) fn blocks(&self) -> impl ExactSizeIterator<Item = (StreamId, &[u8])> {
        self.blocks.iter().map(|(id, block)| (*id, block.as_bytes()))
    }

    /// Iterates over the blocks after the one with an ID, or over all.
    pub(crate) fn blocks_after(&self, id: Option<StreamId>) -> impl Iterator<Item = (StreamId, &[u8])> {
        let after = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.blocks.range((after, Bound::Unbounded)).map(|(id, block)| (*id, block.as_bytes()))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns what is known of the entries that there are and were.
    pub fn state(&self) -> &StreamState {
        &self.state
    }

    /// Sets what is known of the entries that there are and were.
    pub fn set_state(&mut self, state: StreamState) {
        self.state = state;
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes + self.blocks.len() * (size_of::<(StreamId, StreamBlock)>() + size_of::<usize>())
    }

    /// Appends an entry.
    ///
    /// # Errors
    ///
    /// If the ID is not after that of the last entry, or the entry is too large.
    pub fn append<'f>(
        &mut self,
        id: StreamId,
        fields: impl ExactSizeIterator<Item = (&'f [u8], &'f [u8])> + Clone,
        limits: &CompactLimits,
    ) -> Result<(), AppendError> {
        if id <= self.state.last_id {
            return Err(AppendError::NotAfterLast);
        }
        let bytes: usize = fields.clone().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > MOST_BYTES {
            return Err(AppendError::TooLarge);
        }
        let max_bytes = match limits.stream_node_max_bytes {
            0 => MOST_BYTES,
            set => set.min(MOST_BYTES),
        };
        self.drop_dead_blocks(id);
        let last = self.blocks.last_entry();
        let before = match last {
            Some(mut last) => {
                let before = last.get().memory();
                if last.get().has_room(bytes, max_bytes, limits.stream_node_max_entries) {
                    let first = *last.key();
                    last.get_mut().append(first, id, fields, bytes);
                    self.bytes = self.bytes - before + last.get().memory();
                    self.note_appended(id);
                    return Ok(());
                }
                last.get_mut().shrink();
                self.bytes += last.get().memory();
                before
            }
            None => 0,
        };
        let mut block = StreamBlock::new(fields.clone().map(|(name, _)| name));
        block.append(id, id, fields, bytes);
        self.bytes = self.bytes - before + block.memory();
        self.blocks.insert(id, block);
        self.note_appended(id);
        Ok(())
    }

    /// Removes the blocks from this ID of a new entry on. All of their entries are deleted: XSETID
    /// has gone back behind them.
    fn drop_dead_blocks(&mut self, id: StreamId) {
        while let Some(block) = self.blocks.last_entry().filter(|block| *block.key() >= id) {
            self.bytes -= block.remove().memory();
        }
    }

    fn note_appended(&mut self, id: StreamId) {
        self.len += 1;
        self.state.entries_added = one_more(self.state.entries_added);
        self.state.last_id = id;
        if self.len == 1 {
            self.state.first_id = id;
        }
    }

    /// Returns the ID of the block in which this ID is or would be; the ID itself before all.
    fn block_of(&self, id: StreamId) -> StreamId {
        self.blocks.range(..=id).next_back().map_or(id, |(first, _)| *first)
    }

    /// Iterates over the entries of a range of IDs, both ends included.
    pub fn range(&self, from: StreamId, to: StreamId) -> impl Iterator<Item = StreamEntry<'_>> {
        let blocks = self.blocks.range(self.block_of(from)..=to.max(from));
        let entries = blocks.flat_map(|(first, block)| block.entries(*first));
        // Deleted entries may be out of order.
        let live = entries.filter(|entry| !entry.is_deleted());
        live.skip_while(move |entry| entry.id < from).take_while(move |entry| entry.id <= to)
    }

    /// Iterates over the entries of a range of IDs from the last to the first.
    pub fn range_back(&self, from: StreamId, to: StreamId) -> impl Iterator<Item = StreamEntry<'_>> {
        let blocks = self.blocks.range(self.block_of(from)..=to.max(from));
        let entries = blocks.rev().flat_map(|(first, block)| block.entries_back(*first));
        let live = entries.filter(|entry| !entry.is_deleted());
        live.skip_while(move |entry| entry.id > to).take_while(move |entry| entry.id >= from)
    }

    /// Returns the entry with this ID.
    pub fn get(&self, id: StreamId) -> Option<StreamEntry<'_>> {
        self.range(id, id).next()
    }

    /// Frees the entries, a block at a time.
    pub(super) fn into_pieces(self) -> impl Iterator<Item = ()> + Send {
        self.blocks.into_iter().map(drop)
    }

    /// Returns the ID of the last entry.
    pub fn last(&self) -> Option<StreamId> {
        self.range_back(StreamId::MIN, StreamId::MAX).next().map(|entry| entry.id)
    }

    /// Returns the ID of the first entry in the blocks, one that is deleted included.
    pub fn first_in_blocks(&self) -> Option<StreamId> {
        let (first, block) = self.blocks.first_key_value()?;
        block.entries(*first).next().map(|entry| entry.id)
    }

    /// Deletes an entry. Returns false if there is none with this ID.
    pub fn delete(&mut self, id: StreamId) -> bool {
        let first = self.block_of(id);
        let Some(block) = self.blocks.get_mut(&first) else { return false };
        let found = block.entries(first).find(|entry| entry.id == id && !entry.is_deleted());
        let Some(at) = found.map(|entry| entry.offset()) else { return false };
        self.bytes -= block.memory();
        if block.live() == 1 {
            self.blocks.remove(&first);
        } else {
            block.delete(&[at]);
            self.bytes += block.memory();
        }
        self.len -= 1;
        self.state.max_deleted_id = self.state.max_deleted_id.max(id);
        if id == self.state.first_id || self.len == 0 {
            self.find_first();
        }
        true
    }

    fn find_first(&mut self) {
        let first = self.range(StreamId::MIN, StreamId::MAX).next();
        self.state.first_id = first.map_or(StreamId::MIN, |entry| entry.id);
    }

    /// Removes entries from the start. Returns their number.
    pub fn trim(&mut self, trim: &Trim) -> usize {
        self.take_trimmed(trim).0
    }

    /// Removes entries as [`trim`](Self::trim) does. Returns their number, and the blocks that are
    /// to be freed, if they are many.
    pub(crate) fn take_trimmed(&mut self, trim: &Trim) -> (usize, Option<Removed>) {
        let (mut removed, mut blocks, mut bytes) = (0, Vec::new(), 0);
        while let Some((&first, block)) = self.blocks.first_key_value() {
            if matches!(trim.bound, TrimBound::Len(len) if self.len as u64 <= len) {
                break;
            }
            let live = block.live();
            if trim.limit > 0 && removed + live > trim.limit {
                break;
            }
            let is_outside = match trim.bound {
                TrimBound::Len(len) => (self.len - live) as u64 >= len,
                TrimBound::MinId(id) => block.entries_back(first).next().is_none_or(|last| last.id < id),
            };
            if is_outside {
                bytes += block.memory();
                blocks.extend(self.blocks.remove(&first));
                self.len -= live;
                removed += live;
                continue;
            }
            if !trim.is_approximate {
                removed += self.trim_block(first, trim.bound);
            }
            break;
        }
        self.bytes -= bytes;
        if removed > 0 {
            self.find_first();
        }
        (removed, Removed::new(blocks, bytes))
    }

    /// Deletes entries from the start of a block, which does not go as a whole.
    fn trim_block(&mut self, first: StreamId, bound: TrimBound) -> usize {
        let Some(block) = self.blocks.get_mut(&first) else { return 0 };
        let excess = match bound {
            TrimBound::Len(len) => self.len - usize::try_from(len).unwrap_or(usize::MAX).min(self.len),
            TrimBound::MinId(_) => usize::MAX,
        };
        let live = block.entries(first).filter(|entry| !entry.is_deleted());
        let is_outside = |entry: &StreamEntry<'_>| !matches!(bound, TrimBound::MinId(id) if entry.id >= id);
        let ats: Vec<usize> = live.take_while(is_outside).take(excess).map(|entry| entry.offset()).collect();
        self.bytes -= block.memory();
        block.delete(&ats);
        self.bytes += block.memory();
        self.len -= ats.len();
        ats.len()
    }

    /// Returns true if an entry from this ID on may have been deleted in the midst of others.
    fn has_gap_after(&self, id: StreamId) -> bool {
        let deleted = self.state.max_deleted_id;
        self.len > 0 && deleted > StreamId::MIN && self.state.first_id <= deleted && id <= deleted
    }

    /// Returns how many entries were ever added up to this ID; `None` if that is not known.
    pub fn entries_up_to(&self, id: StreamId) -> Option<u64> {
        let StreamState { last_id, first_id, max_deleted_id, entries_added } = self.state;
        if entries_added == 0 || self.len == 0 && id <= last_id || id == last_id {
            return Some(entries_added);
        }
        let has_gap = max_deleted_id > StreamId::MIN && max_deleted_id >= first_id;
        if id > last_id || has_gap || id > first_id {
            return None;
        }
        let before = entries_added.saturating_sub(self.len as u64);
        Some(if id == first_id { one_more(before) } else { before })
    }

    /// Returns how many entries a group has read that reads this entry after `read` others.
    pub fn count_read(&self, id: StreamId, read: Option<u64>) -> Option<u64> {
        match read {
            Some(read) if !self.has_gap_after(id) => Some(one_more(read)),
            _ if self.state.entries_added > 0 => self.entries_up_to(id),
            _ => read,
        }
    }

    /// Returns how many entries a group has not read that has read `read` up to this ID; `None` if
    /// that is not known.
    pub fn lag(&self, last_id: StreamId, read: Option<u64>) -> Option<i64> {
        let added = self.state.entries_added;
        if added == 0 {
            return Some(0);
        }
        let read = match read {
            Some(read) if !self.has_gap_after(last_id) => read,
            _ => self.entries_up_to(last_id)?,
        };
        Some(added.wrapping_sub(read) as i64)
    }

    /// Checks the counts against what is there.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let live: usize = self
            .blocks
            .iter()
            .map(|(first, block)| {
                StreamBlock::from_bytes(block.as_bytes().to_vec()).expect("a whole block");
                block.entries(*first).filter(|entry| !entry.is_deleted()).count()
            })
            .sum();
        assert_eq!(self.len, live);
        assert_eq!(self.bytes, self.blocks.values().map(StreamBlock::memory).sum::<usize>());
    }
}
