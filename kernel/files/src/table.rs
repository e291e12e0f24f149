//! A table of files in bytes. All numbers are little-endian.
//!
//! | bytes | contents |
//! |---|---|
//! | 8 | magic: `XFILES`, a zero, the version 1 |
//! | 8 | the checksum of all that follows (CRC-64/XZ) |
//! | 8 | the number of the commit |
//! | 8 | blocks of the volume |
//! | 4 | bytes of the files' entries |
//! | 4 | files |
//!
//! The entry of a file: the length of its name in 2 bytes, its name, its length in 8 bytes, the
//! number of its extents in 4 bytes, and each extent: first block and number of blocks, 4 bytes
//! each.

use crate::extents::Extent;
use crate::{Error, TABLE};
use alloc::string::String;
use alloc::vec::Vec;
use crc::{CRC_64_XZ, Crc};

const MAGIC: [u8; 8] = *b"XFILES\0\x01";
static CHECKSUM: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);
/// Bytes before the entries, and of those that the checksum does not cover.
const HEADER: usize = 40;
const UNCHECKED: usize = 16;
/// Bytes of all entries, at most.
pub(crate) const ENTRIES: usize = TABLE - HEADER;
/// Bytes of an extent.
pub(crate) const EXTENT: usize = 8;

/// Returns the bytes of the entry of a file.
pub(crate) fn entry_bytes(name: usize, extents: usize) -> usize {
    2 + name + 8 + 4 + extents * EXTENT
}

/// A table that is being written.
pub(crate) struct Writer {
    bytes: Vec<u8>,
    files: u32,
}

impl Writer {
    pub fn new() -> Self {
        Self { bytes: alloc::vec![0; HEADER], files: 0 }
    }

    /// Adds a file. Its name has less than 2^16 bytes.
    pub fn add(&mut self, name: &str, len: u64, extents: impl Iterator<Item = Extent>) {
        self.bytes.extend((name.len() as u16).to_le_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(len.to_le_bytes());
        let count_at = self.bytes.len();
        self.bytes.extend([0; 4]);
        let mut count = 0_u32;
        for extent in extents {
            count += 1;
            self.bytes.extend(extent.start.to_le_bytes());
            self.bytes.extend(extent.count.to_le_bytes());
        }
        self.bytes[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
        self.files += 1;
    }

    /// Returns the table.
    pub fn finish(self, commit: u64, blocks: u32) -> Vec<u8> {
        let Self { mut bytes, files } = self;
        let entries = (bytes.len() - HEADER) as u32;
        bytes[16..24].copy_from_slice(&commit.to_le_bytes());
        bytes[24..32].copy_from_slice(&u64::from(blocks).to_le_bytes());
        bytes[32..36].copy_from_slice(&entries.to_le_bytes());
        bytes[36..40].copy_from_slice(&files.to_le_bytes());
        let checksum = CHECKSUM.checksum(&bytes[UNCHECKED..]);
        bytes[8..16].copy_from_slice(&checksum.to_le_bytes());
        bytes[..8].copy_from_slice(&MAGIC);
        bytes
    }
}

/// What a table says of a file.
pub(crate) struct Entry {
    pub name: String,
    pub len: u64,
    pub extents: Vec<Extent>,
}

/// A table that was read.
pub(crate) struct Table {
    /// As it is on the device.
    pub bytes: Vec<u8>,
    pub commit: u64,
    pub blocks: u64,
}

/// Returns the bytes of the table that begins so, if one does.
pub(crate) fn length(beginning: &[u8]) -> Option<usize> {
    let mut reader = Reader(beginning);
    let is_table = reader.take(8)? == MAGIC;
    reader.take(24)?;
    let entries = reader.number(4)? as usize;
    (is_table && entries <= ENTRIES).then_some(HEADER + entries)
}

impl Table {
    /// Returns the table in these bytes, whose number is its [`length`]. Returns `None` if it is
    /// torn.
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        let mut reader = Reader(&bytes);
        reader.take(8)?;
        let is_whole = reader.number(8)? == CHECKSUM.checksum(&bytes[UNCHECKED..]);
        let (commit, blocks) = (reader.number(8)?, reader.number(8)?);
        is_whole.then_some(Self { bytes, commit, blocks })
    }

    /// Returns what it says of files.
    ///
    /// # Errors
    ///
    /// If it is no table that this version writes.
    pub fn entries(&self) -> Result<Vec<Entry>, Error> {
        let mut reader = Reader(&self.bytes[HEADER - 4..]);
        let files = reader.number(4).unwrap_or(0);
        let entries: Option<Vec<_>> = (0..files).map(|_| reader.entry()).collect();
        entries.filter(|_| reader.0.is_empty()).ok_or(Error::Damaged("an entry is not complete"))
    }
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a number of up to 8 bytes.
    fn number(&mut self, bytes: usize) -> Option<u64> {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(self.take(bytes)?);
        Some(u64::from_le_bytes(number))
    }

    fn entry(&mut self) -> Option<Entry> {
        let name_bytes = self.number(2)? as usize;
        let name = core::str::from_utf8(self.take(name_bytes)?).ok()?.into();
        let (len, count) = (self.number(8)?, self.number(4)?);
        let extents = (0..count).map(|_| self.extent()).collect::<Option<_>>()?;
        Some(Entry { name, len, extents })
    }

    fn extent(&mut self) -> Option<Extent> {
        let (start, count) = (self.number(4)? as u32, self.number(4)? as u32);
        start.checked_add(count).map(|_| Extent { start, count })
    }
}
