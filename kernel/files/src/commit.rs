//! How a volume is opened, and how it becomes durable.

use crate::extents::{Extents, blocks_for};
use crate::table::{self, Entry, Table, Writer};
use crate::volume::Contents;
use crate::{BLOCK, Blocks, Error, FIRST_BLOCK, SECTOR, TABLE, Volume};
use alloc::vec::Vec;

/// Blocks for files of the smallest volume.
const LEAST_BLOCKS: u32 = 64;

/// Returns the first sector of the table of a commit. Tables alternate between two places.
fn sector_of(commit: u64) -> u64 {
    (commit % 2) * (TABLE / SECTOR) as u64
}

/// Writes a table, and makes it durable.
fn write_table(device: &impl Blocks, commit: u64, mut bytes: Vec<u8>) -> Result<(), Error> {
    bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
    device.write(sector_of(commit), &bytes)?;
    Ok(device.flush()?)
}

/// Reads the table in a place. Returns `None` if there is none, or it is torn.
fn read_table(device: &impl Blocks, place: u64) -> Result<Option<Table>, Error> {
    let mut bytes = alloc::vec![0; SECTOR];
    device.read(sector_of(place), &mut bytes)?;
    let Some(length) = table::length(&bytes) else { return Ok(None) };
    bytes.resize(length.next_multiple_of(SECTOR), 0);
    device.read(sector_of(place), &mut bytes)?;
    bytes.truncate(length);
    Ok(Table::new(bytes).filter(|table| table.commit % 2 == place))
}

/// The table of a volume without files.
fn first_table(blocks: u32) -> Vec<u8> {
    Writer::new().finish(1, blocks)
}

/// Returns true if the device is empty, or a power cut has interrupted the first commit: nothing
/// else was ever written.
fn is_unused(device: &impl Blocks, blocks: u32) -> Result<bool, Error> {
    let mut bytes = alloc::vec![0; 2 * TABLE];
    device.read(0, &mut bytes)?;
    let first = first_table(blocks);
    let expected = first.iter().copied().chain(core::iter::repeat(0));
    let (even, odd) = bytes.split_at(TABLE);
    let is_begun = odd.iter().zip(expected).all(|(&byte, expected)| byte == 0 || byte == expected);
    Ok(is_begun && even.iter().all(|&byte| byte == 0))
}

impl<B: Blocks> Volume<B> {
    /// Opens the volume of a device. An empty device, all zeros where tables are, gets a volume.
    ///
    /// # Errors
    ///
    /// [`TooSmall`](Error::TooSmall), [`NoVolume`](Error::NoVolume) if there is something else on
    /// the device, [`Damaged`](Error::Damaged), or an error of the device.
    pub fn open(device: B) -> Result<Self, Error> {
        let blocks = device.sectors() / (BLOCK / SECTOR) as u64;
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        if blocks < FIRST_BLOCK + LEAST_BLOCKS {
            return Err(Error::TooSmall);
        }
        let tables = [read_table(&device, 0)?, read_table(&device, 1)?];
        if let Some(newest) = tables.into_iter().flatten().max_by_key(|table| table.commit) {
            return Self::from_table(device, blocks, newest);
        }
        if !is_unused(&device, blocks)? {
            return Err(Error::NoVolume);
        }
        let mut volume = Self::empty(device, blocks);
        volume.commit()?;
        Ok(volume)
    }

    /// Opens the volume of a table.
    fn from_table(device: B, blocks: u32, table: Table) -> Result<Self, Error> {
        if table.blocks > u64::from(blocks) {
            return Err(Error::Damaged("the volume is larger than its device"));
        }
        let mut volume = Self::empty(device, blocks);
        for entry in table.entries()? {
            volume.add_entry(entry)?;
        }
        volume.commit = table.commit;
        volume.has_changed = false;
        // After a flush that has failed, this table may be in a cache below the device only. It
        // must be durable before the next commit replaces the other one. Writing the same bytes
        // again tears nothing.
        write_table(&volume.device, table.commit, table.bytes)?;
        Ok(volume)
    }

    fn add_entry(&mut self, entry: Entry) -> Result<(), Error> {
        let mut extents = Extents::default();
        for extent in entry.extents {
            if !self.free.claim(extent) {
                return Err(Error::Damaged("a block is of two files, or of none"));
            }
            extents.push(extent);
        }
        if u64::from(extents.blocks()) != blocks_for(entry.len) {
            return Err(Error::Damaged("a file has other blocks than its length needs"));
        }
        let contents = Contents::new(extents, entry.len);
        let is_new = self.add(entry.name, contents);
        if is_new { Ok(()) } else { Err(Error::Damaged("a name is not valid, or used twice")) }
    }

    /// Returns the number of the last commit. It grows by one with each.
    pub fn commits(&self) -> u64 {
        self.commit
    }

    /// Makes all names, lengths and contents durable.
    ///
    /// # Errors
    ///
    /// An error of the device. Then the durable state is that of this commit or of the one before,
    /// and all changes fail from now on with [`Failed`](Error::Failed): open the volume again.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.check()?;
        if !self.has_changed {
            return Ok(());
        }
        let result = self.write_commit();
        self.has_failed = result.is_err();
        result
    }

    fn write_commit(&mut self) -> Result<(), Error> {
        if self.has_written {
            self.device.flush()?;
            self.has_written = false;
        }
        let commit = self.commit + 1;
        write_table(&self.device, commit, self.to_table(commit))?;
        self.commit = commit;
        self.has_changed = false;
        self.freed.drain(..).for_each(|extent| self.free.give(extent));
        Ok(())
    }

    fn to_table(&self, commit: u64) -> Vec<u8> {
        let mut table = Writer::new();
        for (name, id) in &self.names {
            if let Some(contents) = self.files.get(id) {
                table.add(name, contents.len, contents.extents.first(blocks_for(contents.len)));
            }
        }
        table.finish(commit, self.blocks)
    }
}
