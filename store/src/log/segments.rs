//! The files of a log, and the one that is written.

use super::base;
use super::format::{BATCH_HEADER, BatchHeader, SEGMENT_HEADER, SegmentHeader};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use xtasking_storage::{Disk, File};

/// How the name of a segment begins.
const PREFIX: &str = "log-";

/// Returns the name of the segment whose epochs are not below `first`.
pub(super) fn name_of(first: u64) -> String {
    numbered(PREFIX, first)
}

/// Returns the first epoch of the segment of this name; `None` if it is no segment.
pub(super) fn first_of(name: &str) -> Option<u64> {
    number_of(PREFIX, name)
}

/// Returns a name with a number, so that names are in the order of their numbers.
pub(super) fn numbered(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:020}")
}

/// Returns the number in such a name.
pub(super) fn number_of(prefix: &str, name: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix).filter(|digits| digits.len() == 20)?;
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// The files of a log.
pub(super) struct Segments<D: Disk> {
    pub disk: D,
    /// The lengths of all segments but the one that is written, by their first epochs.
    pub closed: BTreeMap<u64, u64>,
    pub current: Segment<D::File>,
    /// The bytes of the base, if there is one.
    pub base: u64,
}

/// The segment that is written.
pub(super) struct Segment<F> {
    pub file: F,
    pub header: SegmentHeader,
    /// The bytes that were written.
    pub len: u64,
    /// The bytes that are durable.
    pub durable: u64,
    /// The last epoch that was written, here or in a segment before.
    pub last_epoch: u64,
    /// Set if the file may be longer than `len`, as a write has failed.
    pub has_rest: bool,
}

/// Units of an epoch, after room for the header.
pub(super) struct Batch {
    pub epoch: u64,
    pub bytes: Vec<u8>,
}

impl Batch {
    /// Makes a batch without units.
    pub fn new(epoch: u64) -> Self {
        Self { epoch, bytes: vec![0; BATCH_HEADER] }
    }
}

impl<F: File> Segment<F> {
    /// Returns true if some of it is not durable.
    pub fn is_dirty(&self) -> bool {
        self.durable < self.len
    }

    /// Returns the epoch before the next one: that is none of an earlier segment, even if this one
    /// has lost its batches.
    pub fn before(&self) -> u64 {
        self.last_epoch.max(self.header.first.saturating_sub(1))
    }

    /// Writes a batch. What an error has left of it is cut off, now or before the next batch.
    pub fn append(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.cut_rest()?;
        let (header, units) = batch.bytes.split_at_mut(BATCH_HEADER);
        let salt = self.header.salt;
        header.copy_from_slice(&BatchHeader::new(batch.epoch, self.durable, units, salt).encode(salt));
        self.has_rest = true;
        if let Err(error) = self.file.append_all(&batch.bytes) {
            // If this fails too, it is done before the next batch.
            _ = self.cut_rest();
            return Err(error);
        }
        self.has_rest = false;
        self.len += batch.bytes.len() as u64;
        self.last_epoch = batch.epoch;
        Ok(())
    }

    fn cut_rest(&mut self) -> io::Result<()> {
        if self.has_rest {
            self.file.truncate(self.len)?;
            self.has_rest = false;
        }
        Ok(())
    }

    /// Makes durable what was written.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync()?;
        self.durable = self.len;
        Ok(())
    }
}

/// Creates a segment that begins with an epoch. Before it is used, the file and its name are
/// durable.
pub(super) fn create<D: Disk>(disk: &D, first: u64, last_epoch: u64) -> io::Result<Segment<D::File>> {
    let header = SegmentHeader { salt: RandomState::new().hash_one(first), first, previous: last_epoch };
    let name = name_of(first);
    let create = || {
        let mut file = disk.create(&name)?;
        file.append_all(&header.encode())?;
        file.sync()?;
        disk.sync_names()?;
        Ok(file)
    };
    match create() {
        Ok(file) => {
            let len = SEGMENT_HEADER as u64;
            Ok(Segment { file, header, len, durable: len, last_epoch, has_rest: false })
        }
        Err(error) => {
            // If it stays, it is a segment without batches, which a recovery removes.
            _ = disk.remove(&name);
            Err(error)
        }
    }
}

impl<D: Disk> Segments<D> {
    /// Begins a segment with an epoch; the one before is durable.
    pub fn begin(&mut self, first: u64) -> io::Result<()> {
        let new = create(&self.disk, first, self.current.last_epoch)?;
        let old = std::mem::replace(&mut self.current, new);
        self.closed.insert(old.header.first, old.len);
        Ok(())
    }

    /// Returns the bytes of the base and of all segments.
    pub fn size(&self) -> u64 {
        self.base + self.closed.values().sum::<u64>() + self.current.len
    }

    /// Removes the segments that have no epoch from `epoch` on, and the bases that stand for less.
    pub fn remove_before(&mut self, epoch: u64) -> io::Result<()> {
        loop {
            let mut firsts = self.closed.keys().copied().chain([self.current.header.first]);
            let oldest = firsts.next().filter(|_| firsts.next().is_some_and(|next| next <= epoch));
            let Some(oldest) = oldest.filter(|oldest| self.closed.contains_key(oldest)) else { break };
            self.disk.remove(&name_of(oldest))?;
            self.closed.remove(&oldest);
        }
        let names = self.disk.list()?;
        for name in names.iter().filter(|name| base::epoch_of(name).is_some_and(|base| base < epoch)) {
            self.disk.remove(name)?;
        }
        let newest = names.iter().filter_map(|name| base::epoch_of(name)).max();
        let open = |epoch| self.disk.open(&base::name_of(epoch))?.len();
        self.base = newest.map_or(Ok(0), open)?;
        self.disk.sync_names()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_epochs() {
        assert!(name_of(9) < name_of(10) && name_of(10) < name_of(u64::MAX));
        assert_eq!(first_of(&name_of(17)), Some(17));
        for name in ["log-1", "log-0000000000000000000x", "log-00000000000000000001.new", "lock"] {
            assert_eq!(first_of(name), None, "{name}");
        }
    }
}
