//! The contents of files: reading, appending, cutting.

use crate::extents::blocks_for;
use crate::table::EXTENT;
use crate::volume::Contents;
use crate::{BLOCK, Blocks, Error, FileId, SECTOR, Volume};
use alloc::vec::Vec;

/// Bytes of a request to the device, at most.
const PIECE: u64 = 256 << 10;
/// Blocks that a file reserves when it grows: an eighth of what it has, within these. So files that
/// grow side by side have few extents.
const LEAST_RESERVE: u32 = 16;
const MOST_RESERVE: u32 = 4096;

impl Contents {
    /// Reads the used bytes of the last sector, unless they are here.
    fn load_tail(&mut self, device: &impl Blocks) -> Result<(), Error> {
        let used = (self.len % SECTOR as u64) as usize;
        if self.tail.len() == used {
            return Ok(());
        }
        let begin = self.len - used as u64;
        let (sector, _) =
            self.extents.find(begin).ok_or(Error::Damaged("a file is longer than its blocks"))?;
        let mut bytes = alloc::vec![0; SECTOR];
        device.read(sector, &mut bytes)?;
        bytes.truncate(used);
        self.tail = bytes;
        Ok(())
    }

    /// Appends as many bytes as one request to the device takes. Returns 0 if no block is left.
    fn append_piece(&mut self, device: &impl Blocks, bytes: &[u8]) -> Result<usize, Error> {
        self.load_tail(device)?;
        // Whole sectors: the last one is written again, with the same bytes at its beginning.
        let begin = self.len - self.tail.len() as u64;
        let Some((sector, follow)) = self.extents.find(begin) else { return Ok(0) };
        let count = bytes.len().min(follow.min(PIECE) as usize - self.tail.len());
        let mut piece = Vec::with_capacity((self.tail.len() + count).next_multiple_of(SECTOR));
        piece.extend_from_slice(&self.tail);
        piece.extend_from_slice(&bytes[..count]);
        let used = piece.len();
        piece.resize(used.next_multiple_of(SECTOR), 0);
        device.write(sector, &piece)?;
        self.len += count as u64;
        self.tail = piece[used / SECTOR * SECTOR..used].to_vec();
        Ok(count)
    }
}

impl<B: Blocks> Volume<B> {
    /// Returns the length of an open file in bytes.
    ///
    /// # Errors
    ///
    /// [`Closed`](Error::Closed).
    pub fn len(&self, id: FileId) -> Result<u64, Error> {
        Ok(self.contents(id)?.len)
    }

    /// Appends some of the bytes, and returns how many: at least one, unless there are none. They
    /// are durable after the next [`commit`](Self::commit).
    ///
    /// # Errors
    ///
    /// [`Full`](Error::Full), [`Closed`](Error::Closed), [`Failed`](Error::Failed), or an error of
    /// the device, after which the file has its old length.
    pub fn append(&mut self, id: FileId, bytes: &[u8]) -> Result<usize, Error> {
        self.check()?;
        self.contents(id)?;
        self.make_room(id, bytes.len() as u64)?;
        self.has_changed |= !bytes.is_empty();
        self.has_written |= !bytes.is_empty();
        let mut written = 0;
        while written < bytes.len() {
            let contents = self.files.get_mut(&id).ok_or(Error::Closed)?;
            match contents.append_piece(&self.device, &bytes[written..]) {
                Ok(0) if written == 0 => return Err(Error::Full),
                Err(error) if written == 0 => return Err(error),
                // The next call finds the same.
                Ok(0) | Err(_) => break,
                Ok(count) => written += count,
            }
        }
        Ok(written)
    }

    /// Gives a file blocks for some more bytes, as far as there are any.
    fn make_room(&mut self, id: FileId, more: u64) -> Result<(), Error> {
        loop {
            let contents = self.contents(id)?;
            let wanted = blocks_for(contents.len + more);
            let missing = wanted.saturating_sub(u64::from(contents.extents.blocks()));
            if missing == 0 || !(self.grow(id, missing)? || self.reclaim(id)?) {
                return Ok(());
            }
        }
    }

    /// Gives a file some free blocks. Returns false if there are none.
    fn grow(&mut self, id: FileId, missing: u64) -> Result<bool, Error> {
        let extents = &self.contents(id)?.extents;
        let reserve = (extents.blocks() / 8).clamp(LEAST_RESERVE, MOST_RESERVE);
        let most = u32::try_from(missing).unwrap_or(u32::MAX).max(reserve);
        let end = extents.end();
        let next = end.map(|end| crate::extents::Extent { start: end, count: self.free.take_at(end, most) });
        let extent = match next.filter(|next| next.count > 0) {
            Some(next) => Some(next),
            None if self.check_table(EXTENT).is_ok() => self.free.take(most),
            None => None,
        };
        let Some(extent) = extent else { return Ok(false) };
        self.contents_mut(id)?.extents.push(extent);
        Ok(true)
    }

    /// Frees blocks that other files have reserved, or those that the last commit still names.
    /// Returns false if there are none.
    fn reclaim(&mut self, id: FileId) -> Result<bool, Error> {
        let before = self.free.blocks();
        let others = self.files.iter_mut().filter(|(other, _)| **other != id);
        let reserves: Vec<_> = others.flat_map(|(_, contents)| contents.cut_reserve()).collect();
        reserves.into_iter().for_each(|extent| self.free.give(extent));
        if self.free.blocks() == before && !self.freed.is_empty() {
            self.commit()?;
        }
        Ok(self.free.blocks() > before)
    }

    /// Reads some of the bytes from `offset` on, and returns how many: 0 at the end of the file, or
    /// if the buffer is empty.
    ///
    /// # Errors
    ///
    /// [`Closed`](Error::Closed), or an error of the device.
    pub fn read_at(&self, id: FileId, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let contents = self.contents(id)?;
        let skip = offset % SECTOR as u64;
        let left = contents.len.saturating_sub(offset);
        let Some((sector, follow)) = contents.extents.find(offset - skip) else { return Ok(0) };
        let count = left.min(follow.min(PIECE) - skip).min(buffer.len() as u64) as usize;
        if count == 0 {
            return Ok(0);
        }
        let skip = skip as usize;
        let mut piece = alloc::vec![0; (skip + count).next_multiple_of(SECTOR)];
        self.device.read(sector, &mut piece)?;
        buffer[..count].copy_from_slice(&piece[skip..skip + count]);
        Ok(count)
    }

    /// Cuts a file to a length, and [commits](Self::commit): what follows is written over what was
    /// cut off.
    ///
    /// # Errors
    ///
    /// [`InvalidLength`](Error::InvalidLength) if the file is shorter, or as for
    /// [`commit`](Self::commit).
    pub fn truncate(&mut self, id: FileId, len: u64) -> Result<(), Error> {
        self.check()?;
        let old = self.contents(id)?.len;
        if len >= old {
            return if len == old { Ok(()) } else { Err(Error::InvalidLength) };
        }
        let contents = self.contents_mut(id)?;
        contents.len = len;
        contents.tail.clear();
        let removed = contents.cut_reserve();
        self.freed.extend(removed);
        self.has_changed = true;
        self.commit()
    }

    /// Returns the bytes that can still be written.
    pub fn free_bytes(&self) -> u64 {
        let freed: u64 = self.freed.iter().map(|extent| u64::from(extent.count)).sum();
        let reserved = |contents: &Contents| u64::from(contents.extents.blocks()) - blocks_for(contents.len);
        (self.free.blocks() + freed + self.files.values().map(reserved).sum::<u64>()) * BLOCK as u64
    }
}
