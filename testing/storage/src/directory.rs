//! Files of the operating system.

use super::{Disk, File};
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// A directory of the operating system.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
}

/// A file of a [`Directory`].
#[derive(Debug)]
pub struct SystemFile(fs::File);

/// A lock in a [`Directory`]: a file that the process has locked.
#[derive(Debug)]
pub struct SystemLock(#[expect(dead_code, reason = "it is held, not used")] fs::File);

impl Directory {
    /// Opens a directory, which is created if it does not exist. What is created is durable.
    ///
    /// # Errors
    ///
    /// If it cannot be created, or is no directory.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        create_durably(&path)?;
        Ok(Self { path })
    }

    /// Returns the path of a file in this directory.
    fn at(&self, name: &str) -> io::Result<PathBuf> {
        let mut components = Path::new(name).components();
        match (components.next(), components.next()) {
            (Some(Component::Normal(only)), None) if only == name => Ok(self.path.join(name)),
            _ => {
                let text = format!("{name:?} is not a valid name of a file: it must be one part of a path");
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
        }
    }
}

/// Creates a directory, with its parents, and syncs the parent of each one that is created. That of
/// the directory itself is synced in any case: one that is there may have been created by a process
/// that was killed before it had synced it.
fn create_durably(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else { return fs::create_dir_all(path) };
    // The parent of a relative path of one part is the current directory.
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    if !parent.is_dir() {
        create_durably(parent)?;
    }
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        created => created?,
    }
    sync_directory(parent)
}

/// Makes the names in a directory durable. Does nothing where a directory cannot be synced: Windows
/// makes names durable by itself.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { fs::File::open(path)?.sync_all() } else { Ok(()) }
}

fn for_appending() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    options
}

impl Disk for Directory {
    type File = SystemFile;
    type Lock = SystemLock;

    /// Locks a file of this name, which is created if there is none, and stays.
    fn lock(&self, name: &str) -> io::Result<SystemLock> {
        let file = for_appending().create(true).open(self.at(name)?)?;
        match file.try_lock() {
            Ok(()) => Ok(SystemLock(file)),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn open(&self, name: &str) -> io::Result<SystemFile> {
        for_appending().open(self.at(name)?).map(SystemFile)
    }

    fn create(&self, name: &str) -> io::Result<SystemFile> {
        for_appending().create_new(true).open(self.at(name)?).map(SystemFile)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.at(from)?, self.at(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.at(name)?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let name = entry.file_name().into_string();
                names.push(name.map_err(|name| {
                    let text = format!("{name:?} in {} is not valid UTF-8", self.path.display());
                    io::Error::new(io::ErrorKind::InvalidData, text)
                })?);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Does nothing where a directory cannot be synced: Windows makes names durable by itself.
    fn sync_names(&self) -> io::Result<()> {
        sync_directory(&self.path)
    }
}

#[cfg(unix)]
fn read_at(file: &fs::File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &fs::File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

impl File for SystemFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read_at(&self.0, offset, buffer)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        if len > self.len()? {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.0.set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}
