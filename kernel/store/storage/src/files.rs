//! Files on a block device.

use super::{Disk, File};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xkernel_files::{Blocks, Error, FileId, Volume};

/// The files of a block device. Clones are the same disk.
///
/// A sync of a file or of names makes all files and names durable, and a file is cut durably. After
/// a sync that has failed, all changes fail: open the device again.
///
/// One operation at a time uses the device; others wait for it.
pub struct Files<B: Blocks>(Arc<Mutex<State<B>>>);

struct State<B> {
    volume: Volume<B>,
    locked: BTreeSet<String>,
}

/// A file of [`Files`].
pub struct VolumeFile<B: Blocks> {
    files: Files<B>,
    id: FileId,
}

/// A lock of [`Files`].
pub struct VolumeLock<B: Blocks> {
    files: Files<B>,
    name: String,
}

fn to_io(error: Error) -> io::Error {
    let kind = match error {
        Error::NotFound => ErrorKind::NotFound,
        Error::AlreadyExists => ErrorKind::AlreadyExists,
        Error::InvalidName | Error::InvalidLength => ErrorKind::InvalidInput,
        Error::Full => ErrorKind::StorageFull,
        Error::NoVolume | Error::Damaged(_) => ErrorKind::InvalidData,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

impl<B: Blocks> Files<B> {
    /// Opens the files of a device. An empty device, all zeros, becomes one with no files.
    ///
    /// # Errors
    ///
    /// [`InvalidData`](ErrorKind::InvalidData) if there is something else on the device or it is
    /// damaged, or an error of the device.
    pub fn open(device: B) -> io::Result<Self> {
        let volume = Volume::open(device).map_err(to_io)?;
        Ok(Self(Arc::new(Mutex::new(State { volume, locked: BTreeSet::new() }))))
    }

    fn state(&self) -> MutexGuard<'_, State<B>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the volume.
    fn with<R>(&self, call: impl FnOnce(&mut Volume<B>) -> Result<R, Error>) -> io::Result<R> {
        call(&mut self.state().volume).map_err(to_io)
    }

    fn file(&self, id: FileId) -> VolumeFile<B> {
        VolumeFile { files: self.clone(), id }
    }
}

impl<B: Blocks> Clone for Files<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<B: Blocks> fmt::Debug for Files<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

impl<B: Blocks + 'static> Disk for Files<B> {
    type File = VolumeFile<B>;
    type Lock = VolumeLock<B>;

    /// Locks a name for handles of this disk: no other process uses the device.
    fn lock(&self, name: &str) -> io::Result<VolumeLock<B>> {
        if self.state().locked.insert(name.to_owned()) {
            return Ok(VolumeLock { files: self.clone(), name: name.to_owned() });
        }
        Err(ErrorKind::WouldBlock.into())
    }

    fn open(&self, name: &str) -> io::Result<VolumeFile<B>> {
        self.with(|volume| volume.open_file(name)).map(|id| self.file(id))
    }

    fn create(&self, name: &str) -> io::Result<VolumeFile<B>> {
        self.with(|volume| volume.create(name)).map(|id| self.file(id))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.with(|volume| volume.rename(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.with(|volume| volume.remove(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state().volume.names().map(str::to_owned).collect())
    }

    fn sync_names(&self) -> io::Result<()> {
        self.with(Volume::commit)
    }
}

impl<B: Blocks> File for VolumeFile<B> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.files.with(|volume| volume.append(self.id, bytes))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.files.with(|volume| volume.read_at(self.id, offset, buffer))
    }

    fn len(&self) -> io::Result<u64> {
        self.files.with(|volume| volume.len(self.id))
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.files.with(|volume| volume.truncate(self.id, len))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.files.with(Volume::commit)
    }
}

impl<B: Blocks> Drop for VolumeFile<B> {
    fn drop(&mut self) {
        // It is open.
        _ = self.files.with(|volume| volume.close(self.id));
    }
}

impl<B: Blocks> Drop for VolumeLock<B> {
    fn drop(&mut self) {
        self.files.state().locked.remove(&self.name);
    }
}
