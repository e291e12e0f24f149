//! What a log does when it is opened: all that is whole is replayed, and a torn end is cut off.

use super::base;
use super::error::OpenError;
use super::format::{SEGMENT_HEADER, SegmentHeader, claims_durable, split_batch};
use super::options::{Cut, Options, Progress, Recovered};
use super::segments::{Segment, Segments, create, first_of, name_of};
use std::collections::BTreeMap;
use std::io::{self, BufReader, ErrorKind};
use xtasking_storage::{Disk, File};

/// Why units cannot be replayed.
#[derive(Debug)]
pub(crate) enum ReplayError {
    /// They are not what the store can have written; why.
    Refused(String),
    /// A base is not what it can have written; from which byte on, and why.
    Malformed(u64, String),
    /// A base cannot be read.
    Disk(io::Error),
    /// The runtime has ended.
    Interrupted,
}

impl ReplayError {
    /// Returns the error of opening a log with this file, if it is what is at this byte.
    fn at(self, name: &str, offset: u64) -> OpenError {
        match self {
            Self::Refused(why) => corrupt(name, offset, why),
            Self::Malformed(offset, why) => corrupt(name, offset, why),
            Self::Disk(error) => OpenError::at(name)(error),
            Self::Interrupted => OpenError::Interrupted,
        }
    }
}

/// What a recovery does with what it reads.
pub(crate) struct Replay<'a> {
    /// Loads the base, if there is one.
    pub(crate) base: &'a mut dyn FnMut(&mut dyn io::Read) -> Result<(), ReplayError>,
    /// Replays units.
    pub(crate) units: &'a mut dyn FnMut(Vec<u8>) -> Result<(), ReplayError>,
}

/// The bytes of units that are replayed together.
const REPLAYED_AT_ONCE: usize = 1 << 20;
/// The bytes of a read or write.
const CHUNK: usize = 1 << 20;

/// A recovery under way.
struct Recovery<'a, 'r, D: Disk> {
    disk: &'a D,
    options: &'a mut Options,
    replay: Replay<'r>,
    total: u64,
    found: Recovered,
}

/// A segment that was read.
struct Read {
    name: String,
    bytes: Vec<u8>,
    header: SegmentHeader,
    /// The bytes up to the end of the last batch that is whole.
    whole: usize,
}

/// Replays a log. Returns its files, ready to be written, and what was found.
///
/// What is read may be in the cache of the system alone, after a sync that has failed. So the last
/// segment is written anew. Those before it were synced when it was begun.
pub(super) fn recover<D: Disk + Clone + 'static>(
    disk: &D,
    options: &mut Options,
    replay: Replay<'_>,
) -> Result<(Segments<D>, Recovered), OpenError> {
    let mut recovery = Recovery { disk, options, replay, total: 0, found: Recovered::default() };
    let (old, base) = recovery.load_base()?;
    let mut names = recovery.segments().map_err(OpenError::at(""))?;
    let first_epoch = recovery.options.first_epoch;
    recovery.found.last_epoch = first_epoch.saturating_sub(1);
    // Those before are not needed. Some of them may be there nevertheless, as their removal was cut
    // off.
    let is_used = |len: u64| len > SEGMENT_HEADER as u64;
    let mut early = names.range(..=first_epoch);
    let needed = early.rfind(|(_, len)| is_used(**len)).map_or(0, |(first, _)| *first);
    let mut unused = names.clone();
    names.retain(|first, _| *first >= needed);
    unused.retain(|first, _| *first < needed);
    recovery.total = names.values().sum();
    let last = names.iter().rfind(|(_, len)| is_used(**len)).map(|(first, _)| *first);
    let mut closed = BTreeMap::new();
    let mut current = None;
    for (first, len) in names {
        if !is_used(len) {
            recovery.check_unused(&name_of(first))?;
            unused.insert(first, len);
            continue;
        }
        let read = recovery.read(first, Some(first) == last)?;
        if Some(first) == last {
            current = Some(read);
        } else {
            closed.insert(first, read.whole as u64);
        }
    }
    if base > 0 && !(unused.is_empty() && old.is_empty()) {
        // From now on it alone has what is removed.
        base::write_anew(disk, first_epoch).map_err(OpenError::at(&base::name_of(first_epoch)))?;
    }
    remove(disk, unused.into_keys().map(name_of).chain(old))?;
    let current = match current {
        Some(read) => recovery.write_anew(&read)?,
        None => {
            let first = recovery.found.last_epoch + 1;
            create(disk, first, recovery.found.last_epoch).map_err(OpenError::at(&name_of(first)))?
        }
    };
    Ok((Segments { disk: disk.clone(), closed, current, base }, recovery.found))
}

fn corrupt(file: &str, offset: u64, reason: impl Into<String>) -> OpenError {
    OpenError::Corrupt { file: file.to_owned(), offset, reason: reason.into() }
}

/// Removes files, if they are there.
fn remove<D: Disk>(disk: &D, names: impl Iterator<Item = String>) -> Result<(), OpenError> {
    for name in names {
        match disk.remove(&name) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(OpenError::at(&name)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// Reads a whole file.
fn read_all(file: &impl File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.len()?).map_err(|_| ErrorKind::OutOfMemory)?];
    let mut offset = 0;
    for chunk in bytes.chunks_mut(CHUNK) {
        file.read_exact_at(offset, chunk)?;
        offset += chunk.len() as u64;
    }
    Ok(bytes)
}

impl<D: Disk> Recovery<'_, '_, D> {
    /// Loads the newest base, which says from which epoch on units are replayed. Returns the names
    /// of those that are not needed, and its length.
    fn load_base(&mut self) -> Result<(Vec<String>, u64), OpenError> {
        let names = self.disk.list().map_err(OpenError::at(""))?;
        let newest = names.iter().filter_map(|name| base::epoch_of(name)).max();
        let is_old = |name: &String| base::epoch_of(name).is_some_and(|epoch| Some(epoch) != newest);
        let old = names.iter().filter(|name| is_old(name) || *name == base::NEW).cloned().collect();
        let Some(epoch) = newest.filter(|epoch| *epoch >= self.options.first_epoch) else {
            return Ok((old, 0));
        };
        let name = base::name_of(epoch);
        let file = self.disk.open(&name).map_err(OpenError::at(&name))?;
        let len = file.len().map_err(OpenError::at(&name))?;
        let mut reader = BufReader::with_capacity(CHUNK, base::Reader::new(file));
        (self.replay.base)(&mut reader).map_err(|error| error.at(&name, 0))?;
        self.options.first_epoch = epoch;
        Ok((old, len))
    }

    /// Returns the lengths of the segments by their first epochs.
    fn segments(&self) -> io::Result<BTreeMap<u64, u64>> {
        let names = self.disk.list()?;
        let firsts = names.iter().filter_map(|name| first_of(name));
        firsts.map(|first| Ok((first, self.disk.open(&name_of(first))?.len()?))).collect()
    }

    /// Checks that no epoch is missing before a segment.
    fn check_start(&self, name: &str, header: SegmentHeader) -> Result<(), OpenError> {
        let last = self.found.last_epoch;
        if header.previous <= last {
            return Ok(());
        }
        let previous = header.previous;
        Err(corrupt(
            name,
            0,
            format!("it begins after epoch {previous}, and the files before it end with epoch {last}"),
        ))
    }

    /// Checks a segment without batches: its beginning was cut off, or it was not written yet.
    fn check_unused(&self, name: &str) -> Result<(), OpenError> {
        let file = self.disk.open(name).map_err(OpenError::at(name))?;
        let bytes = read_all(&file).map_err(OpenError::at(name))?;
        SegmentHeader::decode(&bytes).map_or(Ok(()), |header| self.check_start(name, header))
    }

    /// Reads a segment and replays it.
    fn read(&mut self, first: u64, is_last: bool) -> Result<Read, OpenError> {
        let name = name_of(first);
        let file = self.disk.open(&name).map_err(OpenError::at(&name))?;
        let bytes = read_all(&file).map_err(OpenError::at(&name))?;
        let header = SegmentHeader::decode(&bytes).filter(|header| header.first == first);
        let header = header.ok_or_else(|| corrupt(&name, 0, "the header is not that of a segment"))?;
        self.check_start(&name, header)?;
        let mut read = Read { name, bytes, header, whole: SEGMENT_HEADER };
        self.found.bytes += SEGMENT_HEADER as u64;
        self.replay_batches(&mut read)?;
        if read.whole < read.bytes.len() {
            self.cut(&read, is_last)?;
        }
        self.found.segments += 1;
        Ok(read)
    }

    /// Replays the batches up to the first that is not whole.
    fn replay_batches(&mut self, read: &mut Read) -> Result<(), OpenError> {
        let (mut units, mut units_at) = (Vec::new(), read.whole);
        let mut rest = &read.bytes[read.whole..];
        while let Some((header, own, next)) = split_batch(rest, read.header.salt) {
            let is_in_order = header.epoch >= read.header.first && header.epoch > self.found.last_epoch;
            let is_needed = header.epoch >= self.options.first_epoch;
            if is_needed && !is_in_order {
                let reason = format!("epoch {} follows epoch {}", header.epoch, self.found.last_epoch);
                return Err(corrupt(&read.name, read.whole as u64, reason));
            }
            if is_needed {
                units.extend_from_slice(own);
                self.found.last_epoch = header.epoch;
            }
            let taken = rest.len() - next.len();
            read.whole += taken;
            self.found.bytes += taken as u64;
            rest = next;
            if units.len() >= REPLAYED_AT_ONCE {
                self.replay_units(std::mem::take(&mut units), &read.name, units_at)?;
                units_at = read.whole;
            }
        }
        self.replay_units(units, &read.name, units_at)
    }

    fn replay_units(&mut self, units: Vec<u8>, name: &str, at: usize) -> Result<(), OpenError> {
        if !units.is_empty() {
            (self.replay.units)(units).map_err(|error| error.at(name, at as u64))?;
        }
        let progress = Progress { done: self.found.bytes, total: self.total };
        if let Some(tell) = &mut self.options.progress {
            tell(progress);
        }
        Ok(())
    }

    /// Notes that the end of the last segment is cut off. Elsewhere, or if it was durable, the file
    /// is corrupt.
    fn cut(&mut self, read: &Read, is_last: bool) -> Result<(), OpenError> {
        let (whole, epoch) = (read.whole as u64, self.found.last_epoch);
        let rest = &read.bytes[read.whole..];
        if !is_last || claims_durable(rest, read.header.salt, whole) {
            let reason = format!("what follows epoch {epoch} is not what was written");
            return Err(corrupt(&read.name, whole, reason));
        }
        let bytes = rest.len() as u64;
        self.found.cut = Some(Cut { file: read.name.clone(), offset: whole, bytes, epoch });
        Ok(())
    }

    /// Writes the last segment anew, as far as it is whole.
    fn write_anew(&self, read: &Read) -> Result<Segment<D::File>, OpenError> {
        let temporary = format!("{}.new", read.name);
        remove(self.disk, [temporary.clone()].into_iter())?;
        let end = if planted!("tail-not-cut") { read.bytes.len() } else { read.whole };
        let write = || {
            let mut file = self.disk.create(&temporary)?;
            read.bytes[..end].chunks(CHUNK).try_for_each(|chunk| file.append_all(chunk))?;
            file.sync()?;
            self.disk.rename(&temporary, &read.name)?;
            self.disk.sync_names()?;
            Ok(file)
        };
        let file = write().map_err(OpenError::at(&read.name))?;
        let len = end as u64;
        let (header, last_epoch) = (read.header, self.found.last_epoch);
        Ok(Segment { file, header, len, durable: len, last_epoch, has_rest: false })
    }
}
