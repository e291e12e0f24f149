//! The base of a log: a snapshot that stands for all epochs before one.

use super::segments::{number_of, numbered};
use std::io::{self, ErrorKind, Read, Write};
use xtasking_storage::{Disk, File};

/// How the name of a base begins.
const PREFIX: &str = "base-";
/// The name of a base until it is complete.
pub(super) const NEW: &str = "base.new";

/// Returns the name of the base that stands for the epochs before `epoch`.
pub(super) fn name_of(epoch: u64) -> String {
    numbered(PREFIX, epoch)
}

/// Returns the first epoch after the base of this name; `None` if it is no base.
pub(super) fn epoch_of(name: &str) -> Option<u64> {
    number_of(PREFIX, name)
}

/// A base that is being written. If it is dropped, it is left to be replaced or removed.
pub(crate) trait NewBase: Write + Send {
    /// Makes it the base for the epochs before `epoch`, durably.
    fn keep(self: Box<Self>, epoch: u64) -> io::Result<()>;
}

struct OnDisk<D: Disk> {
    disk: D,
    file: D::File,
}

/// Begins a base.
pub(super) fn create<D: Disk + 'static>(disk: D) -> io::Result<Box<dyn NewBase>> {
    match disk.remove(NEW) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = disk.create(NEW)?;
    Ok(Box::new(OnDisk { disk, file }))
}

impl<D: Disk> Write for OnDisk<D> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.append(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<D: Disk> NewBase for OnDisk<D> {
    fn keep(mut self: Box<Self>, epoch: u64) -> io::Result<()> {
        if !planted!("base-not-synced") {
            self.file.sync()?;
        }
        self.disk.rename(NEW, &name_of(epoch))?;
        self.disk.sync_names()
    }
}

/// Writes a base anew. What is read of it, and its name, may be in the cache of the system alone,
/// if a sync has failed before.
pub(super) fn write_anew<D: Disk + Clone + 'static>(disk: &D, epoch: u64) -> io::Result<()> {
    let mut old = Reader::new(disk.open(&name_of(epoch))?);
    let mut new = create(disk.clone())?;
    io::copy(&mut old, &mut new)?;
    new.keep(epoch)
}

/// Reads a base from its beginning.
pub(super) struct Reader<F> {
    file: F,
    offset: u64,
}

impl<F: File> Reader<F> {
    pub fn new(file: F) -> Self {
        Self { file, offset: 0 }
    }
}

impl<F: File> Read for Reader<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.offset, buffer)?;
        self.offset += read as u64;
        Ok(read)
    }
}
