//! Where the file of a snapshot is.

use crate::log::{Log, NewBase};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a snapshot is written to.
#[derive(Clone, Debug)]
pub(crate) enum SnapshotTarget {
    /// A file of this name in a directory.
    File { folder: PathBuf, name: String },
    /// The base of a log, for the epochs before one.
    Base { log: Log, epoch: u64 },
}

/// A file that is being written. It is where it belongs when it is kept.
pub(super) enum NewFile {
    File(File),
    Base(Box<dyn NewBase>),
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Base(base) => base.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Base(base) => base.flush(),
        }
    }
}

/// The name of a file until it is complete.
fn temporary(folder: &Path) -> PathBuf {
    folder.join(format!("temp-{}.rdb", std::process::id()))
}

impl SnapshotTarget {
    /// Begins a file, with a name of its own.
    pub(super) fn begin(&self) -> io::Result<NewFile> {
        match self {
            Self::File { folder, .. } => File::create(temporary(folder)).map(NewFile::File),
            Self::Base { log, .. } => log.create_base().map(NewFile::Base),
        }
    }

    /// Puts a file that is complete where it belongs, durably.
    pub(super) fn keep(&self, file: NewFile) -> io::Result<()> {
        match (self, file) {
            (Self::File { folder, name }, NewFile::File(file)) => {
                file.sync_all()?;
                fs::rename(temporary(folder), folder.join(name))?;
                sync_names(folder)
            }
            (Self::Base { log, epoch }, NewFile::Base(base)) => {
                base.keep(*epoch)?;
                log.remove_before(*epoch)
            }
            _ => unreachable!("the file was begun for this target"),
        }
    }

    /// Removes what is left of a file that was not kept. A log does so by itself.
    pub(super) fn discard(&self) {
        if let Self::File { folder, .. } = self {
            // It may not even be there.
            _ = fs::remove_file(temporary(folder));
        }
    }
}

/// Syncs the names of a directory, so that a renamed file has its new name after a loss of power.
#[cfg(unix)]
pub(crate) fn sync_names(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Other systems have no such call.
#[cfg(not(unix))]
pub(crate) fn sync_names(_: &Path) -> io::Result<()> {
    Ok(())
}
