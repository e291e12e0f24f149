//! An append-only log with checksums, which is recovered after each power cut. It can be built with
//! mistakes that logs are known for.

use std::io;
use xtasking_storage::{Disk, File};

/// A mistake of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// Records count as durable when they were written.
    NoSync,
    /// A short read counts as the end of the file.
    TrustsShortRead,
    /// A short write counts as a whole one.
    TrustsShortWrite,
    /// A sync that has failed is repeated.
    RepeatsSync,
    /// A new file is used before its name is durable.
    NoSyncOfNames,
    /// The rewritten log takes the place of the old one before it is durable.
    NoSyncBeforeRename,
    /// Records are believed without their checksums.
    NoChecksum,
    /// What follows the last whole record stays in the file.
    KeepsTail,
    /// A recovery goes on with the file that it has read, though the disk may not have all of it.
    KeepsFile,
    /// As `KeepsFile`, and the name of a file that it finds counts as durable.
    TrustsNames,
}

impl Mistake {
    pub const ALL: [Self; 10] = [
        Self::NoSync,
        Self::TrustsShortRead,
        Self::TrustsShortWrite,
        Self::RepeatsSync,
        Self::NoSyncOfNames,
        Self::NoSyncBeforeRename,
        Self::NoChecksum,
        Self::KeepsTail,
        Self::KeepsFile,
        Self::TrustsNames,
    ];
}

const NAME: &str = "log";
const NEW_NAME: &str = "log.new";
/// The length of the contents, and the checksum of both.
const HEADER: usize = 12;

/// FNV-1a of the length and the contents.
fn checksum(contents: &[u8]) -> u64 {
    let length = (contents.len() as u32).to_le_bytes();
    length
        .iter()
        .chain(contents)
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn encode(contents: &[u8]) -> Vec<u8> {
    let length = (contents.len() as u32).to_le_bytes();
    [&length[..], &checksum(contents).to_le_bytes(), contents].concat()
}

/// Splits the first record off. Returns `None` if it is not whole.
fn decode(bytes: &[u8], mistake: Mistake) -> Option<(&[u8], &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let length = u32::from_le_bytes(header[..4].try_into().ok()?) as usize;
    let sum = u64::from_le_bytes(header[4..].try_into().ok()?);
    let (contents, rest) = rest.split_at_checked(length)?;
    let is_whole = sum == checksum(contents) || mistake == Mistake::NoChecksum && length > 0;
    is_whole.then_some((contents, rest))
}

/// A log. After an error it must be recovered.
pub struct Log<D: Disk> {
    disk: D,
    file: D::File,
    mistake: Mistake,
}

impl<D: Disk> Log<D> {
    /// Opens the log, which is created if there is none, and returns its records.
    ///
    /// What it reads may be in the cache alone, after a sync that has failed for good. Its name
    /// may be old or new after a power cut. So the records go to a new file, with a durable name.
    pub fn recover(disk: D, mistake: Mistake) -> io::Result<(Self, Vec<Vec<u8>>)> {
        let file = match disk.open(NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = create_anew(&disk, &[], mistake)?;
                return Ok((Self { disk, file, mistake }, Vec::new()));
            }
            file => file?,
        };
        let bytes = read_all(&file, mistake)?;
        let (mut records, mut rest) = (Vec::new(), &bytes[..]);
        while let Some((contents, next)) = decode(rest, mistake) {
            records.push(contents.to_vec());
            rest = next;
        }
        let whole = (bytes.len() - rest.len()) as u64;
        let file = match mistake {
            Mistake::KeepsTail | Mistake::KeepsFile | Mistake::TrustsNames => {
                keep(&disk, file, whole, mistake)?
            }
            _ => create_anew(&disk, &records, mistake)?,
        };
        Ok((Self { disk, file, mistake }, records))
    }

    /// Appends a record, which is durable after the next [`sync`](Self::sync).
    pub fn append(&mut self, contents: &[u8]) -> io::Result<()> {
        let record = encode(contents);
        if self.mistake == Mistake::TrustsShortWrite {
            return self.file.append(&record).map(|_| ());
        }
        self.file.append_all(&record)
    }

    /// Makes all records durable.
    pub fn sync(&mut self) -> io::Result<()> {
        match self.mistake {
            Mistake::NoSync => Ok(()),
            Mistake::RepeatsSync => self.file.sync().or_else(|_| self.file.sync()),
            _ => self.file.sync(),
        }
    }

    /// Writes the log anew, as a snapshot is written, and lets the new file take its place.
    pub fn rewrite(&mut self, records: &[Vec<u8>]) -> io::Result<()> {
        self.file = create_anew(&self.disk, records, self.mistake)?;
        Ok(())
    }
}

/// Creates the file of a log with these records, in place of the one that there is.
fn create_anew<D: Disk>(disk: &D, records: &[Vec<u8>], mistake: Mistake) -> io::Result<D::File> {
    match disk.remove(NEW_NAME) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed?,
    }
    let mut file = disk.create(NEW_NAME)?;
    for record in records {
        file.append_all(&encode(record))?;
    }
    if mistake != Mistake::NoSyncBeforeRename {
        file.sync()?;
    }
    disk.rename(NEW_NAME, NAME)?;
    if mistake != Mistake::NoSyncOfNames {
        disk.sync_names()?;
    }
    Ok(file)
}

/// Goes on with a file that was found, which is a mistake.
fn keep<D: Disk>(disk: &D, mut file: D::File, whole: u64, mistake: Mistake) -> io::Result<D::File> {
    if mistake != Mistake::KeepsTail {
        file.truncate(whole)?;
    }
    file.sync()?;
    if mistake != Mistake::TrustsNames {
        disk.sync_names()?;
    }
    Ok(file)
}

fn read_all(file: &impl File, mistake: Mistake) -> io::Result<Vec<u8>> {
    /// Bytes of a read.
    const CHUNK: usize = 256;
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; CHUNK];
        match file.read_at(bytes.len() as u64, &mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(count) => {
                bytes.extend_from_slice(&chunk[..count]);
                if count < CHUNK && mistake == Mistake::TrustsShortRead {
                    return Ok(bytes);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
